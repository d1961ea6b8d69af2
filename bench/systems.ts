import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Home } from "../test/rig/home.ts";
import type { ScriptedCall } from "../test/rig/model-server.ts";
import { packPackage } from "../test/rig/package.ts";

/** A way to have tasks done, as a person has it: installed, and called by the parent's model. */
export interface System {
	readonly name: string;
	/** How pi is told of it. */
	readonly settings: Readonly<Record<string, unknown>>;
	/** Puts what it needs into a home. */
	prepare(home: Home): void;
	/** How the model asks for so many tasks; undefined where that is not possible. */
	calls(prompts: readonly string[]): ScriptedCall[] | undefined;
}

export interface Systems {
	readonly systems: readonly System[];
	dispose(): void;
}

const nothing = () => {};
const PI = join(import.meta.dirname, "../node_modules/@earendil-works/pi-coding-agent");
const MAX_TASKS_OF_EXAMPLE = 8;

/** This package, built; and the same with every child started when its turn comes. */
export function ourSystem(): { readonly system: System; readonly cold: System; dispose(): void } {
	const packed = packPackage();
	const packages = [packed.directory];
	// What a person has who sets nothing; the tests' homes have no receipts.
	const defaults = { receipts: true };
	const system = {
		name: "this package",
		settings: { packages, subagents: defaults },
		prepare: nothing,
		calls: delegateCalls,
	};
	const cold = {
		...system,
		name: "this package, without head start",
		settings: { packages, subagents: { ...defaults, headStart: false } },
	};
	return { system, cold, dispose: packed.dispose };
}

/** Installs the peers into a scratch folder, with the flags that `pi install` uses. Needs the network. */
export function installPeers(): Systems {
	const scratch = mkdtempSync(join(tmpdir(), "pi-subagents-peers-"));
	writeFileSync(join(scratch, "package.json"), '{ "private": true }');
	const names = ["@harms-haus/pi-subagents", "@tintinweb/pi-subagents"];
	console.log(`Installing other packages into ${scratch}: ${names.join(", ")}`);
	const flags = ["--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
	execFileSync("npm", ["install", "--prefix", scratch, ...flags, ...names], { cwd: scratch, stdio: "inherit" });
	const [processes = "", inProcess = ""] = names.map((name) => join(scratch, "node_modules", name));
	const systems: System[] = [
		{ name: titleOf(processes), settings: { packages: [processes] }, prepare: nothing, calls: delegateCalls },
		{ name: titleOf(inProcess), settings: { packages: [inProcess] }, prepare: nothing, calls: agentCalls },
		{
			name: "pi's example",
			settings: { extensions: [join(PI, "examples/extensions/subagent/index.ts")] },
			prepare: writeAgent,
			calls: exampleCalls,
		},
	];
	return { systems, dispose: () => rmSync(scratch, { recursive: true, force: true }) };
}

function titleOf(directory: string): string {
	const { name, version } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Record<string, string>;
	return `${name} ${version}`;
}

const delegateCalls: System["calls"] = (prompts) => [
	{ name: "delegate_to_subagents", args: { tasks: prompts.map((prompt, at) => ({ name: `t${at}`, prompt })) } },
];

const agentCalls: System["calls"] = (prompts) =>
	prompts.map((prompt, at) => ({
		name: "Agent",
		args: { subagent_type: "general-purpose", description: `task ${at}`, prompt },
	}));

const exampleCalls: System["calls"] = (prompts) => {
	if (prompts.length > MAX_TASKS_OF_EXAMPLE) return undefined;
	const tasks = prompts.map((task) => ({ agent: "worker", task }));
	return [{ name: "subagent", args: tasks.length === 1 ? tasks[0] : { tasks } }];
};

function writeAgent(home: Home): void {
	const agent = "---\nname: worker\ndescription: Works\n---\nYou work.\n";
	home.write(join(home.agentDir, "agents/worker.md"), agent);
}
