import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { delegate } from "../rig/delegation.ts";
import { text, toolCall } from "../rig/model-server.ts";
import { git, treeMissing } from "../rig/own-tree.ts";
import { until } from "../rig/until.ts";
import { createSetup, type Setup, success } from "./agent-setup.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const bash = (command: string) => toolCall("bash", { command });

async function create(t: TestContext): Promise<Setup> {
	const setup = await createSetup(t, { settings: { subagents: { isolation: "worktree" } } });
	const { home } = setup;
	home.write("a.txt", "one\n");
	git(home.project, "init", "-q", "-b", "main", ".");
	git(home.project, "add", "-A");
	git(home.project, "commit", "-q", "-m", "first");
	return setup;
}

const branchOf = (setup: Setup, task: string) => `subagents/${setup.runs().get(task)?.spec.runId}`;
const changedOn = ({ home }: Setup, branch: string) =>
	git(home.project, "diff", "--name-only", `${branch}~1`, branch).split("\n");

describe("every kind of sub-agent in a tree of its own", { skip: treeMissing() }, () => {
	test("A preset keeps its session in the run directory, and its answer stays exact [W8]", async (t) => {
		const setup = await create(t);
		setup.define("subagents/worker.md", ["name: worker", "description: d", "model: mock/mock-1"]);
		const [result] = await setup.call([{ preset: "worker", task: "write" }], {
			write: [bash("echo x > x.txt"), text("written")],
		});
		const branch = branchOf(setup, "write");
		const blocks = result?.content as { text: string }[];
		assert.deepEqual(
			blocks.map((block) => block.text),
			["written", `[changed 1 file (+1 −0) on branch ${branch}]`],
		);
		assert.deepEqual(changedOn(setup, branch), ["x.txt"]);
		assert.ok(statSync(join(setup.runs().get("write")?.directory ?? "", "child-session.jsonl")).size > 0);
	});

	test("An agent goes on with its session, is reminded to finish, and each of its runs has a branch [W8]", async (t) => {
		const setup = await create(t);
		setup.define("prompts/worker.md", ["name: worker", "description: d"], "You work.");
		const results = await setup.call(
			[
				{ agent: "worker", task: "first", sessionId: "same" },
				{ agent: "worker", task: "second", sessionId: "same" },
			],
			{
				first: [bash("echo 1 > first.txt"), text("hm"), success("did the first")],
				second: [bash("echo 2 > second.txt"), success("did the second")],
			},
		);
		for (const [index, task] of ["first", "second"].entries()) {
			assert.match(
				results[index]?.text ?? "",
				new RegExp(`changed 1 file \\(\\+1 −0\\) on branch ${branchOf(setup, task)}`),
			);
			assert.deepEqual(changedOn(setup, branchOf(setup, task)), [`${task}.txt`]);
		}
		const [request] = setup.requestsOf("second");
		assert.ok(
			request?.messages.some(({ text: said }) => said === "first"),
			"it knows what was said before",
		);
		assert.equal(existsSync(join(setup.home.project, "first.txt")), false);
	});

	test("Three agents write the same file at once, and none sees or loses anything of another [W3]", async (t) => {
		const setup = await create(t);
		setup.define("agent-profiles/worker.md", ["name: worker"]);
		const names = ["x", "y", "z"];
		const { result } = await delegate(setup.home, setup.server, {
			extension: EXTENSION,
			args: { tasks: names.map((name) => ({ name, prompt: name, profile: "worker" })) },
			child: ({ turn, lastUser }) => (turn === 0 ? bash(`echo ${lastUser} >> a.txt; cat a.txt`) : text("done")),
		});
		const branches = [...result.text.matchAll(/on branch (subagents\/\S+)/g)].map(([, branch]) => branch ?? "");
		assert.equal(branches.length, 3);
		for (const [index, branch] of branches.entries()) {
			assert.equal(git(setup.home.project, "show", `${branch}:a.txt`), `one\n${names[index]}`);
		}
	});

	test("A child with a head start sees what was written before its task, and what is not needed leaves nothing [W8]", async (t) => {
		const setup = await create(t);
		const { home, server } = setup;
		home.write(join(home.agentDir, "agent-profiles", "worker.md"), "---\nname: worker\n---\n");
		const runs = join(home.agentDir, "subagents", "runs");
		const parked = () =>
			existsSync(runs)
				? readdirSync(runs, { recursive: true, encoding: "utf8", withFileTypes: false }).filter((name) =>
						name.endsWith("parked.json"),
					)
				: [];
		let seen = 0;
		const { result, childRequests } = await delegate(home, server, {
			extension: EXTENSION,
			args: { tasks: [{ name: "t", profile: "worker", prompt: "look" }] },
			writing: {
				beforeLastArguments: async () => {
					await until(() => parked().length > 0, "a child that waits");
					seen = parked().length;
					home.write("late.txt", "written while the child waited\n");
				},
			},
			child: ({ turn }) => (turn === 0 ? bash("cat late.txt; echo more >> a.txt") : text("done")),
		});
		assert.equal(seen, 1);
		assert.match(childRequests[1]?.messages.at(-1)?.text ?? "", /written while the child waited/);
		assert.match(result.text, /changed 1 file \(\+1 −0\) on branch subagents\//);
		assert.equal(git(home.project, "branch", "--list", "subagents/*").split("\n").length, 1);
	});

	test("A background run brings its changes back, and the agent is told so at its end [W8]", async (t) => {
		const setup = await create(t);
		setup.define("subagents/worker.md", ["name: worker", "description: d", "model: mock/mock-1"]);
		const { done } = setup.start([{ tool: "background_agent", preset: "worker", task: "write" }], {
			write: [bash("echo x > x.txt"), text("written")],
		});
		const { parentRequests } = await done;
		const branch = branchOf(setup, "write");
		assert.deepEqual(changedOn(setup, branch), ["x.txt"]);
		const told = parentRequests.at(-1)?.messages.at(-1)?.text ?? "";
		assert.match(
			told,
			new RegExp(`^✓ Background agent worker .* completed, changed 1 file \\(\\+1 −0\\) on branch ${branch}`),
		);
	});
});

describe("changes that are applied when their run has completed", { skip: treeMissing() }, () => {
	test("Children that end one after the other: the first is applied, the second names its conflict [W5]", async (t) => {
		const setup = await createSetup(t, { settings: { subagents: { isolation: "worktree", changes: "apply" } } });
		const { home, server } = setup;
		home.write("a.txt", "one\n");
		git(home.project, "init", "-q", "-b", "main", ".");
		git(home.project, "add", "-A");
		git(home.project, "commit", "-q", "-m", "first");
		home.write(join(home.agentDir, "agent-profiles", "kept.md"), "---\nname: kept\nchanges: branch\n---\n");
		const profiles: Record<string, object> = { kept: { profile: "kept" } };
		const firstResult = () =>
			[...setup.runs().values()].some(
				({ spec, directory }) => spec.task === "x" && existsSync(join(directory, "result.json")),
			);
		const { result } = await delegate(home, server, {
			extension: EXTENSION,
			args: { tasks: ["x", "y", "kept"].map((name) => ({ name, prompt: name, ...profiles[name] })) },
			child: async ({ turn, lastUser }) => {
				if (turn === 0)
					return bash(`echo ${lastUser} >> a.txt; echo ${lastUser} > ${lastUser}.txt; echo x > .gitignore`);
				if (lastUser === "y") await until(firstResult, "the end of the first");
				return text("done");
			},
		});
		const [x = "", y = "", kept = ""] = result.text.split(/\n(?=✓)/);
		assert.match(x, /applied 2 files\n {2}never applied: \.gitignore/);
		assert.match(y, /applied 1 file\n {2}conflicts, left as they are: a\.txt\n {2}never applied: \.gitignore/);
		assert.doesNotMatch(kept, /applied/);
		const [a, ...others] = ["a.txt", "x.txt", "y.txt"].map((name) => readFileSync(join(home.project, name), "utf8"));
		assert.deepEqual([a, ...others], ["one\nx\n", "x\n", "y\n"]);
		assert.equal(existsSync(join(home.project, "kept.txt")), false);
		assert.equal(git(home.project, "branch", "--list", "subagents/*").split("\n").length, 3);
	});

	test("A definition cannot ask for it where the settings do not: the run is refused with what to do [X39]", async (t) => {
		const setup = await create(t);
		setup.define("agent-profiles/eager.md", ["name: eager", "changes: apply"]);
		const { result, childRequests } = await delegate(setup.home, setup.server, {
			extension: EXTENSION,
			args: { tasks: [{ name: "t", prompt: "go", profile: "eager" }] },
			child: () => text("never"),
		});
		assert.match(
			result.text,
			/^✗ t: error — "eager" has changes: apply, which your settings do not allow: set subagents\.changes/,
		);
		assert.deepEqual(childRequests, []);
	});
});

describe("where a tree of its own cannot be had", { skip: process.platform !== "linux" && "Linux only" }, () => {
	test("The run fails with the reason before any model is asked, and leaves nothing [W6]", async (t) => {
		const setup = await createSetup(t, { settings: { subagents: { isolation: "worktree" } } });
		const { home, server } = setup;
		const { result, childRequests } = await delegate(home, server, {
			extension: EXTENSION,
			args: { tasks: [{ name: "t", prompt: "go", cwd: home.root }] },
			child: () => text("never"),
		});
		assert.match(
			result.text,
			/^✗ t: error — isolation is "worktree", which is not available here \((?:the project is your home directory, .*|bwrap is not installed: install bubblewrap)\)/,
		);
		assert.deepEqual(childRequests, []);
	});
});
