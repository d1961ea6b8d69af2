import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { type ExtensionAPI, getAgentDir } from "@earendil-works/pi-coding-agent";

/** The fields of a `subagents:run` event that this example uses. docs/events.md has all of them. */
interface RunNotice {
	readonly type: "started" | "ended";
	readonly run: {
		readonly runId: string;
		readonly name: string;
		readonly status?: "completed" | "failed" | "aborted";
		readonly error?: string;
		readonly usage?: { readonly totalTokens: number };
	};
}

/** Appends a line to `subagents.log` in pi's agent directory when a sub-agent starts or ends. */
export default function runLog(pi: ExtensionAPI): void {
	const path = join(getAgentDir(), "subagents.log");
	pi.events.on("subagents:run", (data) => {
		const { type, run } = data as RunNotice;
		const end = type === "ended" ? ` ${run.status} ${run.usage?.totalTokens ?? 0} tokens ${run.error ?? ""}` : "";
		appendFileSync(path, `${new Date().toISOString()} ${run.runId} ${run.name} ${type}${end}`.trimEnd().concat("\n"));
	});
}
