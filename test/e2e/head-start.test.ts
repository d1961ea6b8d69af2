import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Delegation, type DelegationOptions, delegate, startDelegation } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import {
	type ModelRequest,
	type ModelServer,
	type Reply,
	startModelServer,
	text,
	toolCalls,
} from "../rig/model-server.ts";
import { processesWithCommand, processesWithEnv, valuesInEnv, waitGone } from "../rig/processes.ts";
import { until } from "../rig/until.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const MARKER = "PI_SUBAGENTS_RUN_ID";

interface Variant {
	readonly name: string;
	readonly tool: string;
	readonly args: Record<string, unknown>;
	/** Whose children wait in the end. */
	readonly parked: readonly string[];
}

const one = (task: object) => ({ tasks: [{ name: "one", ...task, prompt: "look at it" }] });
const VARIANTS: readonly Variant[] = [
	{ name: "a task without a profile", tool: "delegate_to_subagents", args: one({}), parked: ["delegate"] },
	{
		name: "a profile that replaces the prompt",
		tool: "delegate_to_subagents",
		args: one({ profile: "whole" }),
		parked: ["delegate"],
	},
	{
		name: "a profile's tools, skill and thinking",
		tool: "delegate_to_subagents",
		args: one({ profile: "fine" }),
		parked: ["delegate"],
	},
	{
		name: "no tools, no context files",
		tool: "delegate_to_subagents",
		args: one({ profile: "bare" }),
		parked: ["delegate"],
	},
	{ name: "a key of its own", tool: "delegate_to_subagents", args: one({ profile: "keyed" }), parked: ["delegate"] },
	{
		name: "the call's default profile",
		tool: "delegate_to_subagents",
		args: { profile: "bare", ...one({}) },
		parked: ["delegate"],
	},
	{
		name: "files before the prompt",
		tool: "delegate_to_subagents",
		args: one({ files: ["note.txt"] }),
		parked: ["delegate"],
	},
	{ name: "a preset", tool: "subagent", args: { preset: "added", task: "look at it" }, parked: ["preset"] },
	{
		name: "a preset with another model",
		tool: "subagent",
		args: { preset: "added", model: "mock/mock-2", task: "x" },
		parked: ["preset"],
	},
	{ name: "an agent", tool: "subagent", args: { agent: "added", task: "look at it" }, parked: ["agent"] },
	{
		name: "presets and agents in parallel",
		tool: "subagent",
		args: {
			tasks: [
				{ preset: "added", task: "a" },
				{ agent: "whole", task: "b, and take your time" },
			],
		},
		parked: ["agent", "preset"],
	},
];

const DEFINITIONS: Record<string, string> = {
	"agent-profiles/whole.md": "---\nname: whole\ndescription: d\n---\nYou are whole.\n",
	"agent-profiles/fine.md":
		"---\nname: fine\ndescription: d\ntools: read, grep\nthinkingLevel: high\nmodel: mock/mock-2\nloadSkills: greet\n---\nYou are fine.\n",
	"agent-profiles/bare.md":
		"---\nname: bare\ndescription: d\nnoTools: true\nnoContextFiles: true\n---\nYou are bare.\n",
	"agent-profiles/keyed.md":
		"---\nname: keyed\ndescription: d\nmodel: mock/mock-1\napiKey: keyed-canary-0123456789\n---\nYou are keyed.\n",
	"subagents/added.md": "---\nname: added\ndescription: d\nmodel: mock/mock-1\ntools: read, bash\n---\nBe brief.\n",
	"skills/greet/SKILL.md": "---\nname: greet\ndescription: how to greet\n---\nSay hello.\n",
};

describe("children that are started while their call is written", () => {
	let server: ModelServer;
	let home: Home;
	before(async () => {
		server = await startModelServer();
		home = createHome(server);
		for (const [path, content] of Object.entries(DEFINITIONS)) home.write(join(home.agentDir, path), content);
		home.write("AGENTS.md", "The project's rules.\n");
		home.write("note.txt", "a note\n");
	});
	after(async () => {
		await server.close();
		home.dispose();
	});
	const runs = () => join(home.project, ".pi", "subagents", "runs");
	const directories = () => (existsSync(runs()) ? readdirSync(runs()).filter((name) => name !== ".gitignore") : []);
	const parkedNow = () => directories().filter((name) => existsSync(join(runs(), name, "parked.json")));
	/** Those of this home alone: other tests run beside this one. */
	const marked = () => valuesInEnv(MARKER).filter((runId) => existsSync(join(runs(), runId)));
	const use = (subagents: Record<string, unknown>) => {
		const path = join(home.agentDir, "settings.json");
		const settings = JSON.parse(readFileSync(path, "utf8"));
		writeFileSync(path, JSON.stringify({ ...settings, subagents }));
	};
	/** The parent's call is held before its last words until so many of its children wait, and whatever else is done. */
	const untilParked = (count: number, meanwhile: (runIds: readonly string[]) => unknown = () => {}) => ({
		async beforeLastArguments() {
			await until(() => parkedNow().length === count && marked().length === count, `${count} parked`);
			await meanwhile(parkedNow());
		},
	});
	/** The same for what they are: a guess may have been wrong at first. */
	const untilWaiting = (families: readonly string[], meanwhile: (runIds: readonly string[]) => unknown) => ({
		async beforeLastArguments() {
			const waiting = () => parkedNow().map((runId) => readFileSync(join(runs(), runId, "parked.json"), "utf8"));
			const seen = () =>
				waiting()
					.map((spec) => JSON.parse(spec).family)
					.sort()
					.join();
			await until(() => seen() === families.join() && marked().length === families.length, `${families} parked`);
			await meanwhile(parkedNow());
		},
	});
	const nothingLeft = (runIds: readonly string[]) =>
		until(
			() => runIds.every((runId) => !existsSync(join(runs(), runId)) && processesWithEnv(MARKER, runId).length === 0),
			"nothing is left of what was parked",
		);
	const childAnswer = (request: ModelRequest): Reply =>
		request.tools.includes("subagent_finalize")
			? toolCalls([{ name: "subagent_finalize", args: { status: "SUCCESS", result: "seen" } }])
			: text("seen");
	const sent = ({ childRequests }: Delegation) =>
		childRequests
			.map(({ body, headers, path }) => {
				const { "content-length": _length, host: _host, date: _date, ...rest } = headers;
				// pi's own session id, in whichever place.
				const all = JSON.stringify([path, body, rest]).replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, "uuid");
				return all.replaceAll(/\d{8}-\d{6}-[0-9a-f]{8}/g, "run");
			})
			.sort();
	/** What a run leaves, but for times and ids. */
	const trailOf = (runId: string) => {
		const directory = join(runs(), runId);
		const { invocation, limits, family, contract, lifetime, agent } = JSON.parse(
			readFileSync(join(directory, "meta.json"), "utf8"),
		);
		const { outcome, exit, leftovers, usage } = JSON.parse(readFileSync(join(directory, "result.json"), "utf8"));
		const files = readdirSync(directory).sort();
		const ids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\d{8}-\d{6}-[0-9a-f]{8}/g;
		const events = readFileSync(join(directory, "events.jsonl"), "utf8").split("\n").filter(Boolean);
		const types = events.map((line) => JSON.parse(line)).map(({ type, event }) => event?.type ?? type);
		const all = { invocation, limits, family, contract, lifetime, agent, outcome, exit, leftovers, usage, files };
		return JSON.stringify({ ...all, types }).replaceAll(ids, "id");
	};
	const trails = (made: readonly string[]) => made.map(trailOf).sort();

	for (const { name, tool, args, parked } of VARIANTS) {
		test(`${name}: requests, answer and artifacts are those of a cold start`, async () => {
			const ask = async (headStart: boolean) => {
				use({ headStart, maxConcurrency: parked.length });
				const earlier = new Set(directories());
				let waiting: readonly string[] = [];
				const see = (runIds: readonly string[]) => {
					waiting = runIds;
				};
				const delegation = await delegate(home, server, {
					extension: EXTENSION,
					tool,
					args,
					child: childAnswer,
					...(headStart && { writing: untilWaiting(parked, see) }),
				});
				assert.equal(delegation.result.isError, false, delegation.result.text);
				return { delegation, waiting, made: directories().filter((each) => !earlier.has(each)) };
			};
			const warm = await ask(true);
			const cold = await ask(false);
			assert.equal(warm.delegation.childRequests.length, parked.length);
			assert.deepEqual(sent(warm.delegation), sent(cold.delegation));
			const shape = (answer: string) => answer.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[0-9a-f]{16}/g, "id");
			assert.equal(shape(warm.delegation.result.text), shape(cold.delegation.result.text));
			assert.deepEqual(warm.made.sort(), [...warm.waiting].sort(), "those that waited are those that ran");
			assert.deepEqual(trails(warm.made), trails(cold.made));
		});
	}

	const delegateTo = (tasks: readonly object[], options: Partial<DelegationOptions> = {}) =>
		startDelegation(home, server, { extension: EXTENSION, args: { tasks }, child: childAnswer, ...options });
	const task = (name: string, fields: object = {}) => ({ name, ...fields, prompt: `look at ${name}` });

	test("A call that is given up while it is written leaves nothing", async () => {
		use({ maxConcurrency: 2 });
		const gone = Promise.withResolvers<readonly string[]>();
		const { parent, done } = delegateTo([task("one"), task("two")], {
			pi: { mode: "rpc" },
			writing: untilParked(2, (runIds) => {
				parent.send({ type: "abort" });
				gone.resolve(runIds);
				return new Promise(() => {}); // the model never ends its call
			}),
		});
		await nothingLeft(await Promise.race([gone.promise, done.then(() => assert.fail("nothing waited"))]));
		parent.end();
		await parent.done;
	});

	test("A call that is refused leaves nothing of what was started for it", async () => {
		use({});
		let waiting: readonly string[] = [];
		const seventeen = Array.from({ length: 17 }, (_, index) => task(`t${index}`));
		const { done } = delegateTo(seventeen, {
			writing: untilParked(4, (runIds) => {
				waiting = runIds;
			}),
		});
		const { results, childRequests } = await done;
		assert.match(results[0]?.text ?? "", /Validation failed/);
		assert.equal(childRequests.length, 0);
		assert.equal(waiting.length, 4, "no more than run at once");
		await nothingLeft(waiting);
	});

	test("A task that turns out to be another's is run by its own agent, and the guess is ended", async () => {
		use({ maxConcurrency: 2 });
		let waiting: readonly string[] = [];
		// The second task's text begins with the last 8 characters: until then it is expected to be like the first.
		const written = (prompt: string) => [
			{ name: "one", prompt },
			{ name: "two", profile: "whole", prompt: "x" },
		];
		const length = JSON.stringify({ tasks: written("") }).length;
		const { done } = delegateTo(written("x".repeat(8 * 30 - length)), {
			writing: untilParked(2, (runIds) => {
				waiting = runIds;
			}),
		});
		const { childRequests } = await done;
		const [one, two] = childRequests.toSorted((a, b) => b.lastUser.length - a.lastUser.length);
		assert.doesNotMatch(one?.system ?? "", /You are whole/);
		assert.match(two?.system ?? "", /^You are whole\./);
		assert.equal(childRequests.length, 2);
		const guess = waiting.filter((runId) => !existsSync(join(runs(), runId, "result.json")));
		assert.equal(guess.length, 1);
		await nothingLeft(guess);
	});

	for (const [who, victims] of [
		["pi", (runId: string) => processesWithEnv(MARKER, runId).map(({ pid }) => pid)],
		["supervisor", (runId: string) => processesWithCommand(`pi-subagents ${runId}`)],
	] as const) {
		test(`A ${who} that is killed while it waits costs nobody anything`, async () => {
			use({});
			let waiting: readonly string[] = [];
			const { done } = delegateTo([task("one")], {
				writing: untilParked(1, async (runIds) => {
					waiting = runIds;
					const pids = victims(runIds[0] ?? "");
					assert.ok(pids.length > 0);
					for (const pid of pids) process.kill(pid, "SIGKILL");
					await Promise.all(pids.map((pid) => waitGone(pid)));
				}),
			});
			const { results, childRequests } = await done;
			assert.match(results[0]?.text ?? "", /^✓ one: completed \(session: [0-9a-f]{16}\)\n {2}changed no file$/);
			assert.equal(childRequests.length, 1);
			for (const runId of waiting) assert.deepEqual(processesWithEnv(MARKER, runId), []);
			assert.deepEqual(parkedNow(), []);
		});
	}

	for (const [tool, args, count] of [
		["delegate_to_subagents", { tasks: [task("one"), task("two")] }, 2],
		["background_agent", { preset: "added", task: "later" }, 1],
	] as const) {
		test(`When the parent is killed while it writes a call of ${tool}, what waits goes with it (F01)`, async () => {
			use({ maxConcurrency: count });
			const seen = Promise.withResolvers<readonly string[]>();
			const { parent, done } = startDelegation(home, server, {
				extension: EXTENSION,
				child: childAnswer,
				...{ tool, args },
				writing: untilParked(count, (runIds) => {
					seen.resolve(runIds);
					return new Promise(() => {});
				}),
			});
			const waiting = await Promise.race([seen.promise, done.then(() => assert.fail("nothing waited"))]);
			parent.kill("SIGKILL");
			await nothingLeft(waiting);
			await done;
		});
	}

	test("Tasks that follow each other fast are expected to go on; one that does not come is ended", async () => {
		use({});
		let waiting: readonly string[] = [];
		const { done } = delegateTo([task("one"), task("two")], {
			writing: untilParked(3, (runIds) => {
				waiting = runIds;
			}),
		});
		const { childRequests } = await done;
		assert.equal(childRequests.length, 2);
		const guess = waiting.filter((runId) => !existsSync(join(runs(), runId, "result.json")));
		assert.equal(guess.length, 1);
		await nothingLeft(guess);
	});

	test("The setting headStart switches it off; more than maxConcurrency or the budget never wait", async () => {
		const mostParked = async (subagents: Record<string, unknown>, tasks: number) => {
			use(subagents);
			let most = 0;
			const { done } = delegateTo(
				Array.from({ length: tasks }, (_, index) => task(`t${index}`)),
				{
					writing: {
						argumentChunkDelayMs: 60,
						beforeLastArguments: async () => {
							most = parkedNow().length;
						},
					},
				},
			);
			const { results } = await done;
			return { most, text: results[0]?.text ?? "" };
		};
		assert.deepEqual((await mostParked({ headStart: false }, 2)).most, 0);
		assert.deepEqual((await mostParked({ maxConcurrency: 2 }, 4)).most, 2);
		const poor = await mostParked({ maxRunsPerSession: 1 }, 2);
		assert.equal(poor.most, 1);
		assert.match(poor.text, /maxRunsPerSession/);
		assert.deepEqual(parkedNow(), []);
	});

	test("Tasks that wait for their turn are started while the earlier ones work, and each is run once", async () => {
		use({ maxConcurrency: 2 });
		const earlier = new Set(directories());
		let most = 0;
		const { done } = delegateTo(
			Array.from({ length: 5 }, (_, index) => task(`t${index}`)),
			{
				async child() {
					// Each answer waits until the next one in the queue, if there is any, has been started.
					const others = () => directories().filter((each) => !earlier.has(each)).length;
					await until(() => parkedNow().length > 0 || others() === 5, "the next one");
					most = Math.max(most, parkedNow().length);
					return text("seen");
				},
			},
		);
		const { results, childRequests } = await done;
		assert.equal(results[0]?.text.split("\n").filter((line) => line.startsWith("✓")).length, 5);
		assert.deepEqual(
			childRequests.map(({ lastUser }) => lastUser).sort(),
			[0, 1, 2, 3, 4].map((n) => `look at t${n}`),
		);
		assert.ok(most >= 1 && most <= 2, `${most} waited`);
		assert.equal(directories().filter((each) => !earlier.has(each)).length, 5);
	});

	test("A background run that was started early goes on when its parent has ended", async () => {
		use({ waitInPrintMode: false });
		let waiting: readonly string[] = [];
		const answered = Promise.withResolvers<void>();
		const { done } = startDelegation(home, server, {
			extension: EXTENSION,
			tool: "background_agent",
			args: { preset: "added", task: "take your time" },
			isParent: ({ tools }) => tools.includes("background_agent"),
			async child() {
				await answered.promise;
				return text("late but whole");
			},
			writing: untilParked(1, (runIds) => {
				waiting = runIds;
			}),
		});
		const { results } = await done;
		const [runId = ""] = waiting;
		assert.ok(results[0]?.text.includes(`run: ${runId}`), results[0]?.text);
		answered.resolve();
		await until(() => existsSync(join(runs(), runId, "result.json")), "its result");
		const { outcome } = JSON.parse(readFileSync(join(runs(), runId, "result.json"), "utf8"));
		assert.deepEqual(outcome, { kind: "completed", text: "late but whole", end: "natural" });
	});
});
