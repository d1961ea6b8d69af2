import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createFileLocks } from "../src/child/file-locks.ts";
import type { LockRequest } from "../src/child/protocol.ts";
import { createLineSplitter } from "../src/domain/lines.ts";
import { median, printTable } from "./figures.ts";

const CALLS = fileURLToPath(new URL("fixtures/guarded-calls.ts", import.meta.url));
const FILE_BYTES = 100_000;

/** Milliseconds that the write guard takes for a call of each tool, on a file of 100 kB: medians. */
export async function measureWriteGuard(count: number): Promise<Readonly<Record<string, number>>> {
	const directory = mkdtempSync(join(tmpdir(), "pi-bench-guard-"));
	try {
		const path = join(directory, "file.txt");
		const ledger = join(directory, "ledger");
		writeFileSync(path, "x".repeat(FILE_BYTES));
		const child = spawn(
			process.execPath,
			["--disable-warning=ExperimentalWarning", CALLS, path, ledger, String(count)],
			{
				stdio: ["ignore", "pipe", "inherit", "pipe"],
			},
		);
		const lifeline = child.stdio[3] as Duplex;
		const locks = createFileLocks(join(ledger, "locks"), () => child.pid);
		const lines = createLineSplitter((line) => {
			const request = JSON.parse(line.toString("utf8")) as LockRequest;
			locks.request(request, (got) => {
				if ("id" in request) lifeline.write(`${JSON.stringify({ locked: { id: request.id, got } })}\n`);
			});
		});
		lifeline.on("data", (chunk: Buffer) => lines.write(chunk));
		if (!child.stdout) throw new Error("no output");
		const took = JSON.parse(await text(child.stdout)) as Record<string, number[]>;
		return Object.fromEntries(Object.entries(took).map(([tool, each]) => [tool, median(each)]));
	} finally {
		rmSync(directory, { recursive: true, force: true });
	}
}

export async function benchWriteGuard(): Promise<void> {
	const medians = await measureWriteGuard(300);
	printTable("Write guard: what it adds to a call on a file of 100 kB (median of 300)", [
		["tool", "added"],
		...Object.entries(medians).map(([tool, added]) => [tool, `${added.toFixed(2)} ms`]),
	]);
}
