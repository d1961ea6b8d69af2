import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { createHome, type Home } from "../rig/home.ts";
import {
	type ModelRequest,
	type ModelServer,
	startModelServer,
	text,
	toolCall,
	toolCalls,
} from "../rig/model-server.ts";
import { type PiEvent, type PiRun, runPi } from "../rig/pi.ts";
import { waitNoneWithEnv } from "../rig/processes.ts";

export const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const GATE = fileURLToPath(new URL("../rig/fixtures/gate.ts", import.meta.url));

/** A home whose every pi, also each child, has a gate that asks before bash. */
export interface QuestionStage {
	readonly home: Home;
	readonly server: ModelServer;
	/** Called before the stage is taken down. */
	onClose(close: () => Promise<unknown>): void;
	/** What the child with this task was told of its last command. */
	heard(task: string): string | undefined;
	/** The runs there are, with what their transcripts say. */
	runs(): { readonly directory: string; readonly transcript: string; readonly label: string }[];
}

const isParent = ({ tools }: ModelRequest) => tools.includes("delegate_to_subagents");

/**
 * The parent makes one call in each of its turns. A child runs its task as a bash command, one for each line, and then
 * answers with what it was told of the last one.
 */
export async function questionSetup(
	t: TestContext,
	calls: readonly { readonly name: string; readonly args: unknown }[],
	subagents: Record<string, unknown> = {},
	/** Waited for before a child is told to run this command. */
	before: (command: string) => Promise<unknown> | undefined = () => undefined,
): Promise<QuestionStage> {
	const server = await startModelServer(async (request) => {
		if (isParent(request)) {
			const call = calls[request.turn];
			return call ? toolCalls([call]) : text("the parent is done");
		}
		const [task = ""] = request.messages.filter(({ role }) => role === "user").map((message) => message.text);
		const command = task.split("\n")[request.turn];
		await before(command ?? "");
		return command === undefined ? text(`heard: ${lastResult(request)}`) : toolCall("bash", { command });
	});
	const home = createHome(server, { settings: { subagents: { headStart: false, ...subagents }, extensions: [GATE] } });
	home.write(
		join(home.agentDir, "subagents", "scout.md"),
		"---\nname: scout\ndescription: looks around\nmodel: mock/mock-2\n---\nYou look around.\n",
	);
	const closing: (() => Promise<unknown>)[] = [];
	t.after(async () => {
		for (const close of closing) await close();
		await server.close();
		await waitNoneWithEnv("HOME", home.root);
		home.dispose();
	});
	const directories = () =>
		readdirSync(home.agentDir, { recursive: true, encoding: "utf8" })
			.filter((path) => basename(path) === "meta.json")
			.map((path) => join(home.agentDir, dirname(path)))
			.filter((directory) => existsSync(join(directory, "transcript.log")));
	return {
		home,
		server,
		onClose: (close) => void closing.push(close),
		heard: (task) =>
			server.requests
				.filter((request) => !isParent(request) && request.messages.some((message) => message.text === task))
				.map(lastResult)
				.findLast((result) => result !== undefined),
		runs: () =>
			directories().map((directory) => ({
				directory,
				label: JSON.parse(readFileSync(join(directory, "meta.json"), "utf8")).label,
				transcript: readFileSync(join(directory, "transcript.log"), "utf8"),
			})),
	};
}

const lastResult = ({ messages }: ModelRequest): string | undefined =>
	messages.findLast(({ role }) => role === "tool")?.text;

/** A client that reads pi's requests for dialogs, and answers them. */
export function client(home: Home, { prompt = "please delegate", args = [] as string[] } = {}) {
	const pi: PiRun = runPi(home, { mode: "rpc", extension: EXTENSION, prompt, args, timeoutMs: 100_000 });
	const isDialog = ({ type, method }: PiEvent) =>
		type === "extension_ui_request" && ["confirm", "select", "input", "editor"].includes(String(method));
	return {
		pi,
		dialogs: () => pi.events.filter(isDialog),
		/** The dialog request with this number, from 0. */
		dialog: (number: number) =>
			pi
				.waitForEvent(() => pi.events.filter(isDialog).length > number)
				.then(() => pi.events.filter(isDialog)[number] as PiEvent),
		respond: (dialog: PiEvent, answer: Record<string, unknown>) =>
			pi.send({ type: "extension_ui_response", id: dialog.id, ...answer }),
		settled: () => pi.waitForEvent(({ type }) => type === "agent_settled"),
		async leave() {
			pi.end();
			await pi.done;
		},
	};
}

export const delegate = (...tasks: readonly (readonly [name: string, prompt: string])[]) => ({
	name: "delegate_to_subagents",
	args: { tasks: tasks.map(([name, prompt]) => ({ name, prompt })) },
});
