import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { delegate } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelServer, startModelServer, text, toolCall } from "../rig/model-server.ts";
import { contentOf, git, treeMissing } from "../rig/own-tree.ts";
import { isAlive, processesWithCommand } from "../rig/processes.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const SKIP = treeMissing();

let server: ModelServer;
let home: Home;
let victim: ChildProcess;
let sockets: Server[];
let calls: string[];

/** Listens on a socket of the person's, and notes who connects. */
function listenAt(path: string): Promise<void> {
	const socket = createServer((connection) => {
		calls.push(path);
		connection.on("error", () => {});
		connection.end();
	});
	sockets.push(socket);
	return new Promise((resolve) => socket.listen(path, resolve));
}

beforeEach(async () => {
	server = await startModelServer();
	home = createHome(server);
	calls = [];
	sockets = [];
	victim = spawn("sleep", ["600"], { stdio: "ignore" });
	for (const [path, content] of Object.entries({ "a.txt": "one\n", "src/b.txt": "two\n", "secret/c.txt": "three\n" }))
		home.write(path, content);
	git(home.project, "init", "-q", "-b", "main", ".");
	git(home.project, "add", "-A");
	git(home.project, "commit", "-q", "-m", "first");
	git(home.project, "stash", "list");
	home.write(join(home.root, ".bashrc"), "# mine\n");
	home.write(join(home.root, ".ssh", "authorized_keys"), "mine\n");
	home.write(join(home.agentDir, "auth.json"), "{}\n");
	mkdirSync(join(home.root, "other"));
	home.write(join(home.root, "other", "file.txt"), "another project\n");
	await listenAt(join(home.root, "person.sock"));
	await listenAt(join(home.temporary, "service.sock"));
});
afterEach(async () => {
	victim.kill("SIGKILL");
	for (const pid of processesWithCommand(`sleep 599.${process.pid}`)) process.kill(pid, "SIGKILL");
	for (const socket of sockets) socket.close();
	await server.close();
	home.dispose();
});

const connect = (path: string) =>
	`node -e 'require("net").connect(${JSON.stringify(path)}).on("connect", () => process.exit(0)).on("error", () => process.exit(1))'`;

/** What a sub-agent that means harm, or only makes a mistake, would try. Each changes something that can be seen outside. */
const escapes = (): Readonly<Record<string, string>> => ({
	"overwrite a file by its absolute path": `echo evil > ${home.project}/a.txt`,
	"delete a directory of the project": "rm -rf secret",
	"go up and write beside the project": "echo evil > ../other/file.txt",
	"write through a link that leaves the project": "ln -s ../other out && echo evil > out/new.txt",
	"plant a git hook": "printf '#!/bin/sh\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
	"change the repository's configuration": "git config core.fsmonitor ./evil.sh",
	"move a branch": "git -c user.name=x -c user.email=x@x commit -q --allow-empty -m evil",
	"make a tag": "git tag evil",
	"leave a stash": "echo x >> src/b.txt && git -c user.name=x -c user.email=x@x stash -q",
	"add to the shell's start-up file": "echo evil >> ~/.bashrc",
	"add an ssh key": "echo evil >> ~/.ssh/authorized_keys",
	"plant a command in pi's keys": `echo '{"x":{"type":"api_key","key":"!touch /tmp/evil"}}' > "$PI_CODING_AGENT_DIR/auth.json"`,
	"change pi's settings": `echo '{}' > "$PI_CODING_AGENT_DIR/settings.json"`,
	"plant an extension": `mkdir -p "$PI_CODING_AGENT_DIR/extensions" && echo evil > "$PI_CODING_AGENT_DIR/extensions/evil.ts"`,
	"change the records of its own run": `find "$PI_CODING_AGENT_DIR/subagents" -name meta.json -exec sh -c 'echo evil > "$1"' sh {} \\;`,
	"talk to a socket in the home": connect(join(home.root, "person.sock")),
	"talk to a socket in the temporary directory": connect(join(home.temporary, "service.sock")),
	"kill a process of the person": `kill -9 ${victim.pid}`,
	"leave a process behind": `env -i PATH=/usr/bin:/bin setsid sleep 599.${process.pid} >/dev/null 2>&1 & sleep 0.1`,
	"leave code in the cache of compiled code": `find "$TMPDIR/" -maxdepth 2 -path '*compile-cache*' | head -1; echo evil > "$TMPDIR/left-behind"`,
});

/** All that the attempts are about. pi and this package write to the rest. */
function stateOfPerson() {
	const { project, root, agentDir } = home;
	const meta = contentOf(agentDir, ["subagents"]);
	return {
		project: contentOf(project, [".pi", ".git/objects", ".git/refs/heads/subagents"]),
		ssh: contentOf(join(root, ".ssh")),
		other: contentOf(join(root, "other")),
		bashrc: readFileSync(join(root, ".bashrc"), "utf8"),
		agent: meta,
		leftBehind: existsSync(join(home.temporary, "left-behind")),
		victim: victim.exitCode === null && victim.signalCode === null && isAlive(victim.pid ?? 0),
		calls: [...calls],
	};
}

/** Has a sub-agent try one after the other, and says which of them changed something. */
async function attempts(isolation: string): Promise<readonly string[]> {
	home.write(join(home.agentDir, "agent-profiles", "rogue.md"), `---\nname: rogue\nisolation: ${isolation}\n---\n`);
	const list = Object.entries(escapes());
	const worked: string[] = [];
	let before: ReturnType<typeof stateOfPerson> | undefined;
	const note = () => {
		const after = stateOfPerson();
		const changed = JSON.stringify(after) !== JSON.stringify(before) || isMetaBroken();
		before = after;
		return changed;
	};
	const { result } = await delegate(home, server, {
		extension: EXTENSION,
		args: { tasks: [{ name: "rogue", prompt: "try", profile: "rogue" }] },
		child: (request) => {
			before ??= stateOfPerson();
			const tried = list[request.turn - 1];
			if (tried && note()) worked.push(tried[0]);
			const next = list[request.turn];
			return next ? toolCall("bash", { command: next[1] }) : text("tried it all");
		},
	});
	assert.match(result.text, /^✓ rogue: completed/);
	if (processesWithCommand(`sleep 599.${process.pid}`).length > 0) worked.push("leave a process behind");
	return worked;
}

let metaBroken = false;
function isMetaBroken(): boolean {
	const runs = join(home.agentDir, "subagents", "runs");
	const [project = ""] = readdirSync(runs).filter((name) => !name.startsWith("."));
	const broken = readdirSync(join(runs, project)).some(
		(id) => !id.startsWith(".") && readFileSync(join(runs, project, id, "meta.json"), "utf8") === "evil\n",
	);
	const isNew = broken && !metaBroken;
	metaBroken = broken;
	return isNew;
}

describe("20 attempts of a sub-agent to change something outside of its tree", { skip: SKIP }, () => {
	test("None of them succeeds with isolation worktree [W1]", async () => {
		metaBroken = false;
		const before = stateOfPerson();
		assert.deepEqual(await attempts("worktree"), []);
		const { agent, ...rest } = stateOfPerson();
		const { agent: _agent, ...expected } = before;
		assert.deepEqual(rest, expected);
		assert.equal(Object.keys(agent).includes("extensions/evil.ts"), false);
	});

	test("At least 18 of them succeed without it [W1]", async () => {
		metaBroken = false;
		const worked = await attempts("none");
		assert.ok(worked.length >= 18, `only ${worked.length}: ${worked.join("; ")}`);
	});
});
