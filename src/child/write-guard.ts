import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { realTarget } from "../files/real-target.ts";
import { resolveToolPath } from "../files/tool-path.ts";
import { type Change, keyOf, versionOf } from "../files/write-ledger.ts";
import { createKnownFiles, type Knowledge } from "./known-files.ts";
import { createLockRequests, type LockRequests } from "./lock-request.ts";
import type { LockRequest, WriteGuard } from "./protocol.ts";

/** A call from pi's question whether it may be made to its end. */
type OpenCall =
	| { readonly tool: "read"; readonly path: string; readonly before: string }
	| {
			readonly tool: "write" | "edit";
			readonly path: string;
			readonly before: string;
			readonly knowledge: Knowledge;
	  };

/**
 * Keeps sub-agents that work on the same files from losing each other's changes. A file is locked from the question whether
 * it may be changed until it has been. A `write` over a file that is not what this run has read is refused; an `edit` reads
 * the file itself, so it only has to be alone.
 */
export function guardWrites(
	pi: ExtensionAPI,
	guard: WriteGuard,
	ask: (request: LockRequest) => void,
): Pick<LockRequests, "answered"> {
	const locks = createLockRequests(guard, ask);
	const known = createKnownFiles(guard);
	const open = new Map<string, OpenCall>();

	pi.on("tool_call", async ({ toolName, toolCallId, input }, context) => {
		const written = (input as { readonly path?: unknown }).path;
		if (typeof written !== "string" || !isGuarded(toolName)) return undefined;
		const path = realTarget(resolveToolPath(written, context.cwd));
		if (toolName === "read") {
			open.set(toolCallId, { tool: toolName, path, before: versionOf(path) });
			return undefined;
		}
		const key = keyOf(path);
		if (!(await locks.take(key, context.signal))) return refusal(busy(written));
		const before = versionOf(path);
		const knowledge = known.of(path, before);
		if (toolName === "write" && knowledge.kind === "stale") {
			locks.release(key);
			return refusal(stale(written, knowledge.change));
		}
		open.set(toolCallId, { tool: toolName, path, before, knowledge });
		return undefined;
	});

	// What the model does not know of the file, it is told.
	pi.on("tool_result", (event) => {
		const { toolCallId, content, isError, input } = event;
		const call = open.get(toolCallId);
		if (call?.tool !== "edit" || call.knowledge.kind !== "stale" || isError) return undefined;
		const note = `Done, but ${differs(String((input as { readonly path?: unknown }).path), call.knowledge.change)} Read it again before you rely on the rest of it.`;
		return { ...structuredOf(event), content: [...content, { type: "text" as const, text: note }] };
	});

	const end = (toolCallId: string) => {
		const call = open.get(toolCallId);
		if (!call) return;
		open.delete(toolCallId);
		const after = versionOf(call.path);
		if (call.tool === "read") return known.read(call.path, call.before, after);
		if (after !== call.before) known.changed(call.path, after, call);
		locks.release(keyOf(call.path));
	};
	pi.on("tool_execution_end", ({ toolCallId }) => end(toolCallId));
	pi.on("turn_end", () => {
		for (const toolCallId of open.keys()) end(toolCallId);
	});
	return locks;
}

/** pi 1.x drops it with the content that it belongs to. */
const structuredOf = ({
	structuredContent,
}: {
	readonly structuredContent?: unknown;
	readonly type: string;
}): object => (structuredContent === undefined ? {} : { structuredContent });

const isGuarded = (tool: string): tool is OpenCall["tool"] => tool === "read" || tool === "write" || tool === "edit";

type Refusal = { readonly block: true; readonly reason: string };
const refusal = (reason: string): Refusal => ({ block: true, reason: `Not done: ${reason}` });

const busy = (path: string) => `another sub-agent is changing ${path} at this moment. Try again.`;

const differs = (path: string, change: Change) => `${path} is not what you have read: ${describe(change)}.`;
const stale = (path: string, change: Change) => `${differs(path, change)} Read it again, then make your change.`;

function describe({ by, at }: Change): string {
	if (by === undefined) return "a command or another program changed it";
	const seconds = Math.max(0, Math.round((Date.now() - at) / 1_000));
	return `${JSON.stringify(by)} changed it ${seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`} ago`;
}
