import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { CallTime } from "../../domain/attribution.ts";
import { leavesProcesses } from "../../domain/shell-command.ts";
import { effectOf } from "../../domain/tool-effect.ts";
import { realPlace } from "./real-place.ts";

/** A line of call-times.jsonl: a call that begins, or with nothing but its id and time one that has ended. */
interface Line {
	readonly id: string;
	readonly at: number;
	readonly begins?: true;
	readonly path?: string;
	/** What it starts may go on when it has ended. */
	readonly lasting?: true;
}

/**
 * In the child: notes when calls that can change files begin and end. The note is on disk before the call runs, so that another
 * run that finds a changed file also finds who could have changed it. The first command waits until `looked` resolves: what
 * the directory was like before is known then.
 */
export function keepCallTimes(pi: Pick<ExtensionAPI, "on">, file: string, looked: Promise<void>): void {
	const open = new Set<string>();
	let fd: number | undefined;
	const note = (line: Line) => {
		try {
			fd ??= openSync(file, "a", 0o600);
			writeSync(fd, `${JSON.stringify(line)}\n`);
		} catch {
			// The supervisor counts the calls, and says that files are not known.
		}
	};
	pi.on("tool_call", async ({ toolName, toolCallId, input }) => {
		const effect = effectOf(toolName);
		if (effect === "none") return;
		if (effect !== "file") await looked;
		open.add(toolCallId);
		const { path, command } = input as Readonly<Record<string, unknown>>;
		note({
			id: toolCallId,
			at: Date.now(),
			begins: true,
			...(effect === "file" && { path: realPlace(String(path), process.cwd()) }),
			...(typeof command === "string" && leavesProcesses(command) && { lasting: true }),
		});
	});
	pi.on("tool_execution_end", ({ toolCallId }) => {
		if (open.delete(toolCallId)) note({ id: toolCallId, at: Date.now() });
	});
	pi.on("session_shutdown", () => {
		if (fd !== undefined) closeSync(fd);
		fd = undefined;
	});
}

/** The calls in a file of call times. Invalid lines are skipped; a missing file has no calls. */
export function readCallTimes(file: string): readonly CallTime[] {
	const calls = new Map<string, CallTime & { readonly lasting: boolean }>();
	for (const text of read(file).split("\n")) {
		const line = parse(text);
		if (!line) continue;
		const before = calls.get(line.id);
		if (line.begins) {
			const { at: from, path, lasting = false } = line;
			calls.set(line.id, { from, to: Number.POSITIVE_INFINITY, path, lasting });
		} else if (before && !before.lasting) calls.set(line.id, { ...before, to: line.at });
	}
	return [...calls.values()].map(({ from, to, path }) => ({ from, to, path }));
}

function read(file: string): string {
	try {
		return readFileSync(file, "utf8");
	} catch {
		return "";
	}
}

function parse(text: string): Line | undefined {
	try {
		const line = JSON.parse(text) as Partial<Line> | null;
		return typeof line?.id === "string" && typeof line.at === "number" ? (line as Line) : undefined;
	} catch {
		return undefined;
	}
}
