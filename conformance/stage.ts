import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ToolOutcome, toolOutcomes } from "../test/rig/delegation.ts";
import { createHome, type Home } from "../test/rig/home.ts";
import {
	type ModelRequest,
	type ModelServer,
	type Reply,
	startModelServer,
	text,
	toolCalls,
} from "../test/rig/model-server.ts";
import { type PiEnd, type PiOptions, type PiRun, runPi } from "../test/rig/pi.ts";
import { startPiTerminal } from "../test/rig/pi-terminal.ts";
import type { Terminal } from "../test/rig/terminal.ts";
import { AGENT, type OfferedTool, offeredTools, type Shape } from "./shape.ts";

/** What only a child is told: whoever asks the model with it as the last user message is one. */
export const TASK = "conformance: do what you are for";
const PROMPT = "conformance: please delegate";

/** What the scripted child does. */
export type Child = (request: ModelRequest) => Reply | Promise<Reply>;

/** One parent with one delegation, in a home of its own. */
export interface Stage {
	readonly home: Home;
	readonly server: ModelServer;
	start(options?: Omit<PiOptions, "prompt" | "extension">): PiRun;
	terminal(): Promise<Terminal>;
	/** The results that the parent's model has seen by now. */
	outcomes(parent: { readonly events: PiEnd["events"] }): ToolOutcome[];
	dispose(): Promise<void>;
}

export async function createStage(extension: string, shape: Shape, child: Child): Promise<Stage> {
	const server = await startModelServer((request) => {
		if (request.lastUser.includes(TASK)) return child(request);
		return parentReply(shape, request);
	});
	const home = createHome(server);
	placeDefinitions(home);
	return {
		home,
		server,
		start: (options = {}) => runPi(home, { timeoutMs: 60_000, ...options, prompt: PROMPT, extension }),
		async terminal() {
			const terminal = await startPiTerminal(home, { extension });
			await terminal.type(PROMPT);
			await terminal.sendKeys("Enter");
			return terminal;
		},
		outcomes: ({ events }) => toolOutcomes(events),
		async dispose() {
			await server.close();
			home.dispose();
		},
	};
}

/** It delegates, reads the answer back where that takes a call of its own, and is done. */
function parentReply(shape: Shape, { turn, messages }: ModelRequest): Reply {
	if (turn === 0) return toolCalls([{ name: shape.tool, args: shape.call(TASK) }]);
	const result = messages.at(-1);
	const next = turn === 1 && result?.role === "tool" ? shape.readBack(result.text) : undefined;
	return next ? toolCalls([next]) : text("the parent is done");
}

/** Where the known kinds of extensions look for their agents. */
const PLACES = ["agents", "agent-profiles", "subagents", "prompts"];
const DEFINITION = `---\nname: ${AGENT}\ndescription: Does what it is told\n---\n\nYou do what you are told.\n`;

function placeDefinitions(home: Home): void {
	for (const place of PLACES) {
		for (const directory of [join(home.agentDir, place), join(home.root, ".pi", place)]) {
			mkdirSync(directory, { recursive: true });
			writeFileSync(join(directory, `${AGENT}.md`), DEFINITION);
		}
	}
}

/** What a parent's first request offers its model, with the extension or without any. */
export async function firstRequest(
	extension: string | undefined,
): Promise<{ readonly tools: OfferedTool[]; readonly characters: number; readonly stderr: string }> {
	const server = await startModelServer(() => text("ok"));
	const home = createHome(server);
	placeDefinitions(home);
	try {
		const end = await runPi(home, { prompt: PROMPT, timeoutMs: 60_000, ...(extension !== undefined && { extension }) })
			.done;
		const [request] = server.requests;
		if (!request) return { tools: [], characters: 0, stderr: end.stderr };
		const { tools, messages } = request.body;
		const system = (Array.isArray(messages) ? messages : []).filter(
			({ role }) => role === "system" || role === "developer",
		);
		return {
			tools: offeredTools(request),
			characters: JSON.stringify(tools ?? []).length + JSON.stringify(system).length,
			stderr: end.stderr,
		};
	} finally {
		await server.close();
		home.dispose();
	}
}
