import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLibrary } from "../src/definitions/catalog.ts";
import { FOREIGN_SOURCES } from "../src/domain/definition.ts";
import { median, ms, printTable } from "./figures.ts";

const COUNT = 500;
const ROUNDS = 15;
const LIMIT_MS = 50;

/** 500 definitions: read for the first time, read again when the cache is stale, and with one file changed. */
export async function benchDefinitions(): Promise<void> {
	const root = mkdtempSync(join(tmpdir(), "pi-bench-definitions-"));
	try {
		const agentDirectory = join(root, "agent");
		const project = join(root, "project");
		const directory = join(agentDirectory, "agent-profiles");
		for (const path of [directory, project]) mkdirSync(path, { recursive: true });
		for (let at = 0; at < COUNT; at++) writeFileSync(join(directory, `profile-${at}.md`), profile(at));
		let now = 0;
		const library = createLibrary(() => now);
		const trust = { cwd: project, agentDirectory, isProjectTrusted: true, flag: undefined, trustsByDefault: false };
		const load = () => {
			now += 10_000;
			const started = performance.now();
			const { size } = library.load({ agentDirectory, sources: FOREIGN_SOURCES, trust }).entries;
			if (size !== COUNT) throw new Error(`${size} definitions instead of ${COUNT}`);
			return performance.now() - started;
		};
		const first = load();
		const warm = Array.from({ length: ROUNDS }, load);
		utimesSync(join(directory, "profile-7.md"), new Date(), new Date());
		const changed = load();
		printTable(`${COUNT} definitions`, [
			["first time", ms(first)],
			["stale cache, nothing changed", `${ms(median(warm))} (at most ${ms(LIMIT_MS)})`],
			["stale cache, one file changed", ms(changed)],
		]);
		if (median(warm) > LIMIT_MS) throw new Error(`loading ${COUNT} definitions took ${ms(median(warm))}`);
	} finally {
		rmSync(root, { recursive: true, force: true });
	}
}

const FOREIGN = 1_000;
const START_LIMIT_MS = 30;

/** What a thousand agents of another program cost: the look at a session's start, and the first time they are read. */
export function benchForeign(): void {
	const root = mkdtempSync(join(tmpdir(), "pi-bench-foreign-"));
	try {
		const agentDirectory = join(root, "agent");
		const project = join(root, "project");
		const directory = join(project, ".claude", "agents");
		for (const path of [directory, agentDirectory]) mkdirSync(path, { recursive: true });
		for (let at = 0; at < FOREIGN; at++) writeFileSync(join(directory, `agent-${at}.md`), claudeAgent(at));
		const trust = { cwd: project, agentDirectory, isProjectTrusted: true, flag: undefined, trustsByDefault: false };
		const context = { agentDirectory, sources: ["claude"] as const, trust };
		const library = createLibrary(() => 0);
		const start = cpuMs(() => library.stamp(context));
		const read = cpuMs(() => library.load(context));
		printTable(`${FOREIGN} agents of Claude Code, processor time`, [
			["at a session's start, nothing changed", `${ms(start)} (at most ${ms(START_LIMIT_MS)})`],
			["read for the first time", ms(read)],
		]);
		if (start > START_LIMIT_MS) throw new Error(`a session's start took ${ms(start)}`);
	} finally {
		rmSync(root, { recursive: true, force: true });
	}
}

function cpuMs(work: () => unknown): number {
	const before = process.cpuUsage();
	work();
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1_000;
}

const claudeAgent = (at: number) => `---
name: agent-${at}
description: Use this agent to look at part ${at} of the code
tools: Read, Grep, Glob
model: sonnet
---

You are number ${at}.
${"A line of the prompt that says something about the work.\n".repeat(40)}`;

const profile = (at: number) => `---
name: profile-${at}
description: Looks at part ${at} of the code
model: anthropic/claude-sonnet-4-5:high
tools: [read, grep, find, ls]
suggestedSkills: one, two
noContextFiles: true
appendSystemPrompt: |
  Be brief.
  Be kind.
---

You are number ${at}.

${"A line of the prompt that says something about the work.\n".repeat(20)}`;
