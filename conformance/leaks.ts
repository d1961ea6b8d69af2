import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { MOCK_API_KEY } from "../test/rig/home.ts";
import { text } from "../test/rig/model-server.ts";
import { descendants, isAlive } from "../test/rig/processes.ts";
import { terminalMissing } from "../test/rig/terminal.ts";
import { type Check, unknown, verdict } from "./check.ts";
import { startWorking, WORKING, type Working } from "./orphans.ts";
import { createStage } from "./stage.ts";

const TITLE = "taken-over";
const SHOWN = "plain words";
/** A title, the clipboard, a cleared screen. */
const SEQUENCES = `\u001b]0;${TITLE}\u0007\u001b]52;c;dGFrZW4=\u0007\u001b[2J${SHOWN}\u009b2J`;

/** What the parent holds, or a child says, goes nowhere else. */
export const LEAKS: readonly Check[] = [
	{
		name: "keys: not in arguments, environments or files",
		async run(extension, shape) {
			const stage = await createStage(extension, shape, WORKING);
			let working: Working | undefined;
			try {
				working = await startWorking(stage);
				const pids = [...new Set([...working.all, ...descendants(working.parent.pid).map(({ pid }) => pid)])];
				const places = [
					...pids.filter((pid) => holds(`/proc/${pid}/cmdline`)).map(() => "arguments"),
					...pids.filter((pid) => holds(`/proc/${pid}/environ`)).map(() => "environment"),
					...filesBelow(stage.home.root)
						.filter((path) => path !== join(stage.home.agentDir, "models.json") && holds(path))
						.map((path) => relative(stage.home.root, path)),
				];
				return verdict(
					places.length === 0,
					places.length === 0 ? `${pids.length} processes looked at` : places.join(", "),
				);
			} finally {
				for (const pid of working?.all ?? []) if (isAlive(pid)) process.kill(pid, "SIGKILL");
				working?.parent.kill("SIGKILL");
				await stage.dispose();
			}
		},
	},
	{
		name: "screen: a child cannot command the terminal",
		async run(extension, shape) {
			const missing = terminalMissing();
			if (missing !== undefined) return unknown(missing);
			const stage = await createStage(extension, shape, () => text(SEQUENCES));
			const terminal = await stage.terminal();
			try {
				await terminal.waitFor("the parent is done", 30_000);
				const taken = await terminal.waitForTitle(TITLE, 1_000).then(
					() => true,
					() => false,
				);
				const shown = (await terminal.capture()).includes(SHOWN);
				return verdict(
					!taken,
					taken ? "the child has set the title" : `its words are ${shown ? "shown, the rest is not" : "not shown"}`,
				);
			} finally {
				await terminal.dispose();
				await stage.dispose();
			}
		},
	},
];

function holds(path: string): boolean {
	try {
		return readFileSync(path, "latin1").includes(MOCK_API_KEY);
	} catch {
		return false; // gone, or not for us to read
	}
}

/** Links lead to caches that all homes share. */
function filesBelow(directory: string): string[] {
	return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
		const path = join(directory, entry.name);
		if (entry.isDirectory()) return filesBelow(path);
		return entry.isFile() && statSync(path).size < 50_000_000 ? [path] : [];
	});
}
