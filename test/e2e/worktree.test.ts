import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { delegate } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelServer, startModelServer, text, toolCall } from "../rig/model-server.ts";
import { contentOf, git, treeMissing } from "../rig/own-tree.ts";
import { type PiEvent, runPi } from "../rig/pi.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const SKIP = treeMissing();

let server: ModelServer;
let home: Home;

beforeEach(async () => {
	server = await startModelServer();
	home = createHome(server);
});
afterEach(async () => {
	await server.close();
	home.dispose();
});

const profile = (name: string, ...fields: string[]) =>
	home.write(join(home.agentDir, "agent-profiles", `${name}.md`), `---\nname: ${name}\n${fields.join("\n")}\n---\n`);

/** A repository with something committed, changed, new and ignored. */
function createRepository(): void {
	for (const [path, content] of Object.entries({ "kept.txt": "kept\n", "src/a.txt": "one\n", "src/b.txt": "two\n" }))
		home.write(path, content);
	home.write(".gitignore", "*.log\nnode_modules\n");
	git(home.project, "init", "-q", "-b", "main", ".");
	git(home.project, "add", "-A");
	git(home.project, "commit", "-q", "-m", "first");
	home.write("kept.txt", "kept\nand changed\n");
	home.write("untracked.txt", "not committed\n");
	home.write("build.log", "ignored\n");
	home.write("node_modules/thing/index.js", "installed\n");
}

/** All of the repository but the objects and branches that a run may add. */
const ofPerson = () => contentOf(home.project, [".pi", ".git/objects", ".git/refs/heads/subagents"]);

const runDirectory = (): string => {
	const runs = join(home.agentDir, "subagents", "runs");
	const [project = ""] = readdirSync(runs).filter((name) => !name.startsWith("."));
	const ids = readdirSync(join(runs, project)).filter((name) => !name.startsWith("."));
	return join(runs, project, ids.at(-1) ?? "");
};

/** One task whose child runs a command; gives what the command printed and what the call says. */
async function runCommand(command: string, task: object = {}) {
	const { result, childRequests } = await delegate(home, server, {
		extension: EXTENSION,
		args: { tasks: [{ name: "worker", prompt: "work", profile: "worker", ...task }] },
		child: (request) => (request.turn === 0 ? toolCall("bash", { command }) : text("all done")),
	});
	return { text: result.text, printed: childRequests[1]?.messages.at(-1)?.text ?? "" };
}

describe("a run with a tree of its own", { skip: SKIP }, () => {
	test("Sees the project as it is at its own path, and its changes come back as one commit on a branch [W2 W3 W4]", async () => {
		createRepository();
		profile("worker", "isolation: worktree");
		const before = ofPerson();
		const { text: said, printed } = await runCommand(
			"pwd; cat kept.txt untracked.txt build.log node_modules/thing/index.js; echo three > src/c.txt; echo more >> src/a.txt; rm src/b.txt; echo x > out.log",
		);
		assert.equal(
			printed.trim(),
			[home.project, "kept", "and changed", "not committed", "ignored", "installed"].join("\n"),
		);
		assert.deepEqual(ofPerson(), before);
		const [branch = ""] = git(home.project, "branch", "--list", "subagents/*", "--format=%(refname:short)").split("\n");
		assert.match(
			said,
			new RegExp(
				`^✓ worker: completed \\(session: \\w{16}\\)[^\\n]*\\n {2}changed 3 files \\(\\+2 −1\\) on branch ${branch}\\n {2}1 ignored file not carried back$`,
			),
		);
		const changed = git(home.project, "diff", "--name-status", `${branch}~1`, branch).split("\n");
		assert.deepEqual(changed, ["M\tsrc/a.txt", "D\tsrc/b.txt", "A\tsrc/c.txt"]);
		const base = git(home.project, "diff", "--name-status", "main", `${branch}~1`).split("\n");
		assert.deepEqual(base, ["M\tkept.txt", "A\tuntracked.txt"]);
		assert.equal(git(home.project, "rev-parse", "main"), git(home.project, "rev-parse", `${branch}~2`));
		const { changes } = JSON.parse(readFileSync(join(runDirectory(), "result.json"), "utf8"));
		assert.equal(changes.at.name, branch);
		assert.deepEqual(
			changes.files.map(({ path }: { path: string }) => path),
			["src/a.txt", "src/b.txt", "src/c.txt"],
		);
	});

	test("Its changes are shown, applied, undone and discarded by a person's commands, and the doctor lists its branch [W5]", async () => {
		createRepository();
		profile("worker", "isolation: worktree");
		const session = join(home.root, "session.jsonl");
		const { result } = await delegate(home, server, {
			extension: EXTENSION,
			args: { tasks: [{ name: "worker", prompt: "work", profile: "worker" }] },
			child: ({ turn }) =>
				turn === 0 ? toolCall("bash", { command: "echo 2 > src/a.txt; echo 3 > n" }) : text("done"),
			pi: { args: ["--session", session] },
		});
		const runId = /on branch subagents\/(\S+)/.exec(result.text)?.[1] ?? "";
		const before = ofPerson();
		const pi = runPi(home, { mode: "rpc", extension: EXTENSION, args: ["--session", session] });
		const say = async (message: string) => {
			const from = pi.events.length;
			pi.send({ type: "prompt", message });
			const isNotice = (event: PiEvent) => event.type === "extension_ui_request" && event.method === "notify";
			const said = await pi.waitForEvent((event) => isNotice(event) && pi.events.indexOf(event) >= from);
			return String(said.message);
		};
		assert.match(await say(`/subagents diff ${runId}`), /^diff --git a\/n b\/n[\s\S]*-one\n\+2$/);
		assert.match(await say("/subagents doctor"), new RegExp(`✓ Changes of sub-agents: 1 branch\n +subagents/${runId}`));
		assert.equal(await say("/subagents apply worker"), `Run ${runId}: applied n, src/a.txt`);
		assert.equal(readFileSync(join(home.project, "src/a.txt"), "utf8"), "2\n");
		assert.match(await say(`/subagents apply ${runId}`), /already applied or discarded$/);
		assert.equal(await say(`/subagents undo ${runId}`), `Run ${runId}: restored n, src/a.txt`);
		assert.deepEqual(ofPerson(), before);
		assert.match(await say(`/subagents undo ${runId}`), /nothing of this run is applied$/);
		assert.equal(await say(`/subagents discard ${runId}`), `Run ${runId}: its branch and its layer are gone`);
		assert.equal(git(home.project, "branch", "--list", "subagents/*"), "");
		pi.end();
		await pi.done;
	});

	test("Leaves no branch, no layer and no word about changes when it changed nothing [W3]", async () => {
		createRepository();
		profile("worker", "isolation: worktree");
		const before = ofPerson();
		const { text: said } = await runCommand("cat src/a.txt");
		assert.match(said, /^✓ worker: completed \(session: \w{16}\)[^\n]*$/);
		assert.equal(git(home.project, "branch", "--list", "subagents/*"), "");
		assert.deepEqual(ofPerson(), before);
		assert.equal(existsSync(join(runDirectory(), "layers")), false);
	});
});
