import assert from "node:assert/strict";
import type { Home } from "../rig/home.ts";
import { type PiEvent, type PiRun, runPi } from "../rig/pi.ts";

/** What a person answers to a dialog: a value, yes or no, or nothing. */
export type Answer = string | boolean | undefined;

export interface Dialog {
	readonly method: string;
	readonly title: string;
	readonly placeholder: string | undefined;
	readonly prefill: string | undefined;
	readonly options: readonly string[] | undefined;
	readonly message: string | undefined;
}

/** A pi that is spoken to over RPC, and its extension's dialogs answered one by one. */
export interface ProfileSession {
	readonly run: PiRun;
	/** Runs a command to its notice; every dialog must be one that has an answer, and every answer is used. */
	command(text: string, answers?: readonly (readonly [title: RegExp, answer: Answer])[]): Promise<Conversation>;
	end(): Promise<void>;
}

export interface Conversation {
	readonly dialogs: readonly Dialog[];
	readonly notice: string;
	readonly noticeType: string;
}

export function startProfileSession(home: Home, extension: string, args: string[] = []): ProfileSession {
	const run = runPi(home, { mode: "rpc", extension, args, timeoutMs: 60_000 });
	let seen = 0;
	const next = async (): Promise<PiEvent> => {
		const event = await run.waitForEvent((each) => isDialog(each) && run.events.indexOf(each) >= seen);
		seen = run.events.indexOf(event) + 1;
		return event;
	};
	return {
		run,
		async command(text, answers = []) {
			seen = run.events.length;
			run.send({ type: "prompt", message: text });
			const left = [...answers];
			const dialogs: Dialog[] = [];
			for (;;) {
				const event = await next();
				if (event.method === "notify") {
					assert.deepEqual(
						left.map(([title]) => String(title)),
						[],
						`${text}: ${event.message}`,
					);
					return { dialogs, notice: String(event.message), noticeType: String(event.notifyType) };
				}
				dialogs.push(dialogOf(event));
				const [title, answer] = left.shift() ?? [/^$/, undefined];
				assert.match(String(event.title), title, `${text}: unexpected ${event.method} "${event.title}"`);
				run.send({ type: "extension_ui_response", id: event.id, ...answerOf(answer) });
			}
		},
		async end() {
			run.end();
			assert.equal((await run.done).code, 0);
		},
	};
}

/** The notice at the start of a session is nobody's answer. */
const isDialog = ({ type, method, message }: PiEvent) =>
	type === "extension_ui_request" &&
	!/^Agent definitions:|cannot be used: \/profile list$/.test(String(message)) &&
	["select", "input", "editor", "confirm", "notify"].includes(String(method));

const answerOf = (answer: Answer) =>
	answer === undefined ? { cancelled: true } : typeof answer === "boolean" ? { confirmed: answer } : { value: answer };

const dialogOf = (event: PiEvent): Dialog => ({
	method: String(event.method),
	title: String(event.title),
	placeholder: event.placeholder as string | undefined,
	prefill: event.prefill as string | undefined,
	options: event.options as string[] | undefined,
	message: event.message as string | undefined,
});
