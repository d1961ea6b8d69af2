import { randomUUID } from "node:crypto";
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { type Asked, isTooLong, type Reply } from "../domain/question.ts";
import type { FromChild, QuestionAnswer } from "./protocol.ts";

/** Where extension-runner.ts leaves pi's class that hands `ctx.ui` and `ctx.hasUI` to extensions. */
export const RUNNER = Symbol.for("pi-subagents.extension-runner");

const MAX_INTERVAL_MS = 2 ** 31 - 1;
const MAX_NOTICE_CHARS = 2_000;

/** Has extensions in this child ask the person of the parent. */
export interface Asking {
	/** Somebody is there to answer, or not any more. */
	attended(person: boolean): void;
	answered(answer: QuestionAnswer): void;
}

interface DialogOptions {
	readonly signal?: AbortSignal;
	readonly timeout?: number;
}

type Dialogs = Pick<ExtensionUIContext, "confirm" | "select" | "input" | "editor" | "notify">;

/** Where this version of pi has no such class nothing changes: `ctx.hasUI` stays false, and gates deny at once. */
export function createAsking(runner: unknown, tell: (message: FromChild) => void): Asking {
	let isAttended = false;
	const open = new Map<string, (reply: Reply) => void>();
	const ask = (asked: Asked, { signal, timeout }: DialogOptions = {}): Promise<Reply> => {
		if (!isAttended || signal?.aborted || isTooLong(asked)) return Promise.resolve(null);
		const id = randomUUID();
		return new Promise((resolve) => {
			const settle = (reply: Reply) => {
				open.delete(id);
				clearInterval(waits);
				clearTimeout(timer);
				signal?.removeEventListener("abort", withdraw);
				resolve(reply);
			};
			const withdraw = () => {
				tell({ withdraw: id });
				settle(null);
			};
			const waits = setInterval(() => {}, MAX_INTERVAL_MS); // nothing else keeps this process alive meanwhile
			const timer = timeout === undefined ? undefined : setTimeout(withdraw, timeout);
			signal?.addEventListener("abort", withdraw, { once: true });
			open.set(id, settle);
			tell({ ask: { ...asked, id } });
		});
	};
	const textOf = (reply: Reply) => (typeof reply === "string" ? reply : undefined);
	replaceDialogs(
		runner,
		{
			confirm: async (title, message, options) =>
				(await ask({ kind: "confirm", title: String(title), message: String(message ?? "") }, options)) === true,
			select: async (title, choices, options) =>
				textOf(await ask({ kind: "select", title: String(title), options: choices.map(String) }, options)),
			input: async (title, placeholder, options) =>
				textOf(await ask({ kind: "input", title: String(title), placeholder: String(placeholder ?? "") }, options)),
			editor: async (title, prefill) =>
				textOf(await ask({ kind: "editor", title: String(title), prefill: String(prefill ?? "") })),
			notify: (message) => tell({ notice: String(message).slice(0, MAX_NOTICE_CHARS) }),
		},
		() => isAttended,
	);
	return {
		attended(person) {
			isAttended = person;
		},
		answered: ({ id, reply }) => open.get(id)?.(reply),
	};
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/**
 * pi hands no dialogs to extensions in this mode. They get ours, and for all the rest what pi has where nobody looks.
 * Whether there is somebody to ask is looked up each time.
 */
function replaceDialogs(runner: unknown, dialogs: Dialogs, isAttended: () => boolean): void {
	const prototype = (runner as { prototype?: Record<string, unknown> } | undefined)?.prototype;
	const { setUIContext, getUIContext, hasUI } = (prototype ?? {}) as Record<string, unknown>;
	if (!prototype || !isMethod(setUIContext) || !isMethod(getUIContext) || !isMethod(hasUI)) return;
	prototype.setUIContext = function (this: unknown, ui: unknown, ...rest: unknown[]) {
		setUIContext.call(this, ui, ...rest);
		if (ui) return;
		const silent = getUIContext.call(this) as object;
		setUIContext.call(this, { ...silent, ...dialogs }, ...rest);
	};
	prototype.hasUI = function (this: unknown) {
		return hasUI.call(this) && isAttended();
	};
}

const isMethod = (value: unknown): value is Method => typeof value === "function";
