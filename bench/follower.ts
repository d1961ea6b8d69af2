import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTrail } from "../src/run-directory/read.ts";
import { printTable } from "./figures.ts";

const TOTAL_BYTES = 256 * 1024 * 1024;

/** How fast a parent reads what its children write. */
export async function benchFollower(): Promise<void> {
	const directory = mkdtempSync(join(tmpdir(), "pi-subagents-bench-"));
	try {
		const rows = [["", "lines", "lines/s", "MB/s"]];
		for (const [name, lineBytes, line] of [
			["messages of 1 kB", 1024, message],
			["messages of 4 MB", 4 * 1024 * 1024, message],
			["records that change nothing, 4 MB", 4 * 1024 * 1024, record],
		] as const) {
			const path = join(directory, "events.jsonl");
			const one = Buffer.from(line(lineBytes));
			const lines = Math.floor(TOTAL_BYTES / one.length);
			writeFileSync(path, Buffer.concat(Array.from({ length: lines }, () => one)));
			const from = performance.now();
			const trail = await openTrail(path);
			for await (const _event of trail.read());
			await trail.close();
			const seconds = (performance.now() - from) / 1_000;
			const megabytes = (lines * one.length) / 1024 / 1024;
			rows.push([name, String(lines), String(Math.round(lines / seconds)), String(Math.round(megabytes / seconds))]);
		}
		printTable("The follower", rows);
	} finally {
		rmSync(directory, { recursive: true, force: true });
	}
}

const filled = (head: string, tail: string, bytes: number) =>
	`${head}${"x".repeat(bytes - head.length - tail.length)}${tail}`;
const message = (bytes: number) =>
	filled(
		'{"type":"message_end","message":{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"',
		'"}],"isError":false,"timestamp":0}}\n',
		bytes,
	);
const record = (bytes: number) => filled('{"type":"agent_end","messages":["', '"]}\n', bytes);
