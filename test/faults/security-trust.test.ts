import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { TSchema } from "typebox";
import { backgroundTool } from "../../src/tools/background-agent.ts";
import { backgroundStatusTool } from "../../src/tools/background-status.ts";
import { delegateParameters } from "../../src/tools/delegate-schema.ts";
import { outputTool } from "../../src/tools/retrieval.ts";
import { subagentTool } from "../../src/tools/subagent.ts";
import { createDelegateSetup, type DelegateSetup } from "../rig/delegate-setup.ts";
import { createSetup } from "../rig/fake-run.ts";
import { promptOf } from "../rig/fake-steps.ts";
import type { RecordedHost } from "../rig/recorded-host.ts";
import { use } from "../tools/preset-setup.ts";

const MODELS = [{ provider: "mock", id: "mock-1", name: "mock-1" }];
/** What a model might try in order to decide in the person's place. */
const BY_ITSELF = { agentScope: "both", scope: "project", confirm: false, approve: true, trust: "yes" };

describe("an untrusted repository, and a model that was talked into something", () => {
	let setup: DelegateSetup;
	before(() => {
		setup = createDelegateSetup();
	});
	after(() => setup.dispose());

	const define = ({ host, context }: RecordedHost, lines: string) => {
		const directory = join(context.cwd, ".pi", "agent-profiles");
		mkdirSync(directory, { recursive: true });
		writeFileSync(join(directory, "helper.md"), `---\nname: helper\n${lines}---\n`);
		host.library.invalidate();
	};
	const call = async (host: RecordedHost, more: object = {}) => {
		const tasks = [{ name: "t", prompt: promptOf({ say: "ok" }), profile: "helper", ...more }];
		return (await host.delegate({ tasks, ...more })).lines[0] ?? "";
	};
	const lastArguments = ({ context }: RecordedHost): string[] => {
		const runs = join(context.cwd, ".pi", "subagents", "runs");
		const last = readdirSync(runs)
			.filter((name) => /^\d/.test(name))
			.sort()
			.at(-1);
		return JSON.parse(readFileSync(join(runs, last ?? "", "meta.json"), "utf8")).invocation.args;
	};
	const FAR = "extraArgs: --no-themes\nextensions: ./evil.ts\n";

	test("A definition that changes after it was used gets no further than before (S03, X12)", async () => {
		const host = setup.session();
		define(host, "");
		assert.match(await call(host), /^✓ t: completed/);
		define(host, FAR); // git pull
		assert.match(
			await call(host),
			/^✗ t: error — The project's "helper" sets extensions, extraArgs, which only a trusted/,
		);
		define(host, "");
		assert.match(await call(host), /^✓ t: completed/);
	});

	test("Who trusts a directory trusts what it will hold, as in pi: the change counts (S03, X12)", async () => {
		const host = setup.session();
		define(host, "");
		const store = join(process.env.PI_CODING_AGENT_DIR ?? "", "trust.json");
		writeFileSync(store, JSON.stringify({ [host.context.cwd]: true }));
		define(host, "extraArgs: --no-themes\n");
		assert.match(await call(host), /^✓ t: completed/);
		assert.ok(lastArguments(host).includes("--no-themes"));
		writeFileSync(store, "{}");
	});

	test("No tool has a parameter about trust, and what is given all the same changes nothing (S07)", async () => {
		const host = setup.session({ models: MODELS });
		define(host, FAR);
		const refused = await call(host);
		assert.match(refused, /which only a trusted project may/);
		await assert.rejects(
			call(host, BY_ITSELF),
			/delegate_to_subagents does not take agentScope, scope, confirm, approve, trust/,
		);
		await assert.rejects(
			use(subagentTool(host.host, MODELS), host, { preset: "helper", task: "x", ...BY_ITSELF }),
			/subagent does not take agentScope, scope, confirm, approve, trust/,
		);
		await assert.rejects(
			use(backgroundTool(host.host, MODELS), host, { preset: "helper", task: "x", ...BY_ITSELF }),
			/background_agent does not take agentScope, scope, confirm, approve, trust/,
		);
		const schemas: TSchema[] = [
			delegateParameters,
			subagentTool(host.host, MODELS).parameters,
			backgroundTool(host.host, MODELS).parameters,
			backgroundStatusTool(host.host).parameters,
			outputTool(host.host).parameters,
		];
		const names = schemas.flatMap(namesIn);
		assert.ok(names.includes("prompt") && names.includes("preset") && names.includes("runId"));
		for (const name of names) assert.doesNotMatch(name, /trust|approve|scope|confirm|source|extension|env|key/i);
	});

	test("A child has its parent's environment, as a pi started by hand would, and three markers (S12)", async (t) => {
		process.env.GH_TOKEN = "ghp-of-the-person";
		const runs = createSetup();
		t.after(() => {
			delete process.env.GH_TOKEN;
			runs.dispose();
		});
		const run = runs.start([{ delta: "here" }, { hang: true }]);
		await run.until(({ partial }) => partial !== "");
		const seen = readFileSync(`/proc/${(await run.pids()).pi}/environ`, "utf8")
			.split("\0")
			.filter((entry) => entry !== "");
		run.abort();
		await run.done;
		const own = Object.entries(process.env).map(([name, value]) => `${name}=${value}`);
		const added = seen.filter((entry) => !own.includes(entry)).map((entry) => entry.replace(/=.*/s, ""));
		assert.deepEqual(added.sort(), ["PI_SUBAGENTS_CHILD", "PI_SUBAGENTS_RUN_ID", "PI_SUBAGENT_CHILD"]);
		assert.deepEqual(
			own.filter((entry) => !seen.includes(entry)),
			[],
		);
		assert.ok(seen.includes("GH_TOKEN=ghp-of-the-person"));
	});
});

/** Every name of a parameter, at any depth. */
function namesIn(schema: unknown): string[] {
	if (typeof schema !== "object" || schema === null) return [];
	const { properties } = schema as { properties?: Record<string, unknown> };
	return [
		...Object.keys(properties ?? {}),
		...Object.values(schema).flatMap(namesIn),
		...Object.values(properties ?? {}).flatMap(namesIn),
	];
}
