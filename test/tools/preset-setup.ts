import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentToolResult, ExtensionContext, ToolDefinition } from "@earendil-works/pi-coding-agent";
import type { TSchema } from "typebox";
import { createSetup, type Setup } from "../rig/fake-run.ts";
import { makeAgentDirectory } from "../rig/no-receipts.ts";
import { createRecordedHost, type RecordedHost } from "../rig/recorded-host.ts";

export const MODELS = ["mock-1", "mock-2"].map((id) => ({ provider: "mock", id, name: id }));

/** Projects with presets, for the tools that take them. */
export interface PresetSetup {
	/** A session in a project of its own, with the presets `scout` (mock/mock-1) and `plain` (no model). */
	session(settings?: object): RecordedHost;
	/** Also ends the runs that a failed test has left in the background. */
	dispose(): Promise<void>;
}

export function createPresetSetup(): PresetSetup {
	const setup: Setup = createSetup();
	const agentDirectory = process.env.PI_CODING_AGENT_DIR;
	process.env.PI_CODING_AGENT_DIR = makeAgentDirectory(join(setup.temporary, "agent"));
	const hosts: RecordedHost[] = [];
	return {
		session(settings) {
			const cwd = join(setup.project, `p${hosts.length}`);
			const presets = join(cwd, ".pi", "subagents");
			mkdirSync(presets, { recursive: true });
			const preset = (name: string, more: string, body: string) =>
				writeFileSync(join(presets, `${name}.md`), `---\nname: ${name}\ndescription: ${name}s\n${more}---\n${body}`);
			preset("scout", "model: mock/mock-1\n", "You look around.\n");
			preset("plain", "", "");
			if (settings) writeFileSync(join(cwd, ".pi", "settings.json"), JSON.stringify({ subagents: settings }));
			const host = createRecordedHost({ cwd, models: MODELS });
			hosts.push(host);
			return host;
		},
		async dispose() {
			await Promise.all(hosts.map(stopAll));
			if (agentDirectory === undefined) delete process.env.PI_CODING_AGENT_DIR;
			else process.env.PI_CODING_AGENT_DIR = agentDirectory;
			setup.dispose();
		},
	};
}

export async function stopAll({ host, session }: RecordedHost): Promise<void> {
	const running = host.store.background.filter(({ progress }) => progress.kind === "running");
	for (const { runId } of running) await host.background.stop(runId);
	await session.until(() => host.store.counts().running === 0);
}

export const runsIn = ({ context }: RecordedHost): string[] => {
	try {
		return readdirSync(join(context.cwd, ".pi", "subagents", "runs")).filter((name) => /^\d/.test(name));
	} catch {
		return [];
	}
};

let calls = 0;

/** Calls a tool as pi does: the arguments are prepared first. */
export async function use<P extends TSchema, D>(
	tool: ToolDefinition<P, D>,
	{ context }: { readonly context: ExtensionContext },
	args: Record<string, unknown>,
	signal?: AbortSignal,
): Promise<AgentToolResult<D> & { readonly text: string; readonly callId: string }> {
	const callId = `call-${calls++}`;
	const prepared = tool.prepareArguments?.(args) ?? args;
	const result = await tool.execute(callId, prepared as never, signal, undefined, context);
	const [content] = result.content;
	return { ...result, callId, text: content?.type === "text" ? content.text : "" };
}
