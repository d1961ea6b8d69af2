import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	existsSync,
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	realpathSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { createRunDirectory } from "../../src/run-directory/create.ts";
import { isRunPath, type RunPlaces, shownDirectory } from "../../src/run-directory/places.ts";
import { specFor } from "../rig/fake-run.ts";

interface Places {
	readonly project: string;
	readonly agent: string;
	readonly elsewhere: string;
}

function places(t: TestContext): Places {
	const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-subagents-places-")));
	t.after(() => rmSync(root, { recursive: true, force: true }));
	const made = { project: join(root, "project"), agent: join(root, "agent"), elsewhere: join(root, "elsewhere") };
	for (const directory of Object.values(made)) mkdirSync(directory);
	return made;
}

function make({ project, agent }: Places, runsIn: RunPlaces["runsIn"] = "home") {
	const spec = specFor(project);
	const made = createRunDirectory(spec, { cwd: project, agentDirectory: agent, runsIn });
	assert.ok(made.ok, JSON.stringify(made));
	return { ...made.value, spec };
}

const modeOf = (path: string) => (lstatSync(path).mode & 0o777).toString(8);
const linkOf = ({ project }: Places) => join(project, ".pi", "subagents", "runs");

test("Runs live in the agent directory, in a directory named after the project and its path [X30]", (t) => {
	const at = places(t);
	const hash = createHash("sha256").update(at.project).digest("hex").slice(0, 8);
	const { path, spec } = make(at);
	assert.equal(path, join(at.agent, "subagents", "runs", `project-${hash}`, spec.runId));
	const long = { ...at, project: join(at.elsewhere, "é".repeat(120)) };
	mkdirSync(long.project);
	assert.equal(make(long).warning, undefined);
});

test("The documented path in the project is a link to the runs, and git sees neither it nor its .gitignore [X30]", (t) => {
	const at = places(t);
	execFileSync("git", ["init", "-q", at.project]);
	const { path, spec } = make(at);
	assert.equal(readlinkSync(linkOf(at)), dirname(path));
	assert.equal(shownDirectory(path, at.project), join(linkOf(at), spec.runId));
	assert.equal(readFileSync(join(linkOf(at), spec.runId, "meta.json"), "utf8").includes(spec.runId), true);
	assert.equal(execFileSync("git", ["-C", at.project, "status", "--porcelain", "-uall"], { encoding: "utf8" }), "");
	assert.equal(execFileSync("grep", ["-rc", ".", at.project], { encoding: "utf8" }).includes(spec.runId), false);
});

test("A .gitignore, a link or a directory that is there already stays as it is, and the real path is shown [X30]", (t) => {
	const own = places(t);
	mkdirSync(dirname(linkOf(own)), { recursive: true });
	writeFileSync(join(dirname(linkOf(own)), ".gitignore"), "mine\n");
	make(own);
	assert.equal(readFileSync(join(dirname(linkOf(own)), ".gitignore"), "utf8"), "mine\n");
	for (const prepare of [
		(at: Places) => symlinkSync(at.elsewhere, linkOf(at)),
		(at: Places) => symlinkSync("nowhere", linkOf(at)),
		(at: Places) => mkdirSync(linkOf(at)),
		(at: Places) => writeFileSync(linkOf(at), ""),
	]) {
		const at = places(t);
		mkdirSync(dirname(linkOf(at)), { recursive: true });
		prepare(at);
		const before = lstatSync(linkOf(at));
		const { path, warning } = make(at);
		assert.equal(warning, undefined);
		assert.equal(path.startsWith(at.agent), true);
		assert.equal(shownDirectory(path, at.project), path);
		assert.deepEqual([lstatSync(linkOf(at)).ino, readdirSync(at.elsewhere)], [before.ino, []]);
		assert.equal(existsSync(join(dirname(linkOf(at)), ".gitignore")), false);
	}
});

test("No link is made through a .pi or .pi/subagents that is a link itself, or where the project cannot be written [X30]", (t) => {
	for (const parts of [[".pi"], [".pi", "subagents"]]) {
		const at = places(t);
		mkdirSync(join(at.project, ...parts.slice(0, -1)), { recursive: true });
		symlinkSync(at.elsewhere, join(at.project, ...parts));
		const { path } = make(at);
		assert.equal(shownDirectory(path, at.project), path);
		assert.deepEqual(readdirSync(at.elsewhere), []);
	}
	const at = places(t);
	writeFileSync(join(at.project, ".pi"), "in the way");
	assert.equal(make(at).warning, undefined);
});

test("A part of the agent directory may be a link to another place of the same person [X29]", (t) => {
	const at = places(t);
	symlinkSync(at.elsewhere, join(at.agent, "subagents"));
	const { path, spec } = make(at);
	assert.equal(isRunPath(path, spec.runId), true);
	assert.equal(readdirSync(join(at.elsewhere, "runs")).length, 2);
});

test("A run directory is the person's alone under any umask [X7, S14, S15]", (t) => {
	for (const runsIn of ["home", "project"] as const) {
		for (const umask of [0o000, 0o022, 0o077, 0o777]) {
			const before = process.umask(umask);
			const at = (() => {
				try {
					return make(places(t), runsIn);
				} finally {
					process.umask(before);
				}
			})();
			assert.deepEqual(
				[modeOf(at.path), modeOf(join(at.path, "..")), modeOf(join(at.path, "meta.json"))],
				["700", "700", "600"],
			);
			const runs = runsIn === "home" ? join(at.path, "..", "..") : join(at.path, "..");
			assert.equal(readFileSync(join(runs, ".gitignore"), "utf8"), "*\n");
			assert.equal(at.warning, undefined);
		}
	}
});

test("If one place cannot be written, the run is kept in the other one, and the person is told why [X7, F46]", (t) => {
	for (const runsIn of ["home", "project"] as const) {
		const at = places(t);
		writeFileSync(runsIn === "home" ? join(at.agent, "subagents") : join(at.project, ".pi"), "in the way");
		const { path, warning } = make(at, runsIn);
		assert.equal(path.startsWith(runsIn === "home" ? linkOf(at) : join(at.agent, "subagents", "runs")), true);
		assert.match(warning ?? "", /^Sub-agent runs are kept in .*: (ENOTDIR|EEXIST)/);
	}
});

test("If no place can be written, the error names both, and nothing throws [F46]", (t) => {
	const at = places(t);
	writeFileSync(join(at.project, ".pi"), "");
	writeFileSync(join(at.agent, "subagents"), "");
	const made = createRunDirectory(specFor(at.project), { cwd: at.project, agentDirectory: at.agent, runsIn: "home" });
	assert.match(made.ok ? "" : made.error, /^No run directory could be made: .*agent.*; .*project/);
});

test("Inside of a project a link that leads out of it is refused, whichever part of the path it is [X29, S17]", (t) => {
	for (const parts of [[".pi"], [".pi", "subagents"], [".pi", "subagents", "runs"]]) {
		const at = places(t);
		mkdirSync(join(at.project, ...parts.slice(0, -1)), { recursive: true });
		symlinkSync(at.elsewhere, join(at.project, ...parts));
		const { path, warning } = make(at, "project");
		assert.equal(path.startsWith(at.agent), true, parts.join("/"));
		assert.match(warning ?? "", /is a link that leaves/);
		assert.deepEqual(readdirSync(at.elsewhere), []);
	}
});

test("Inside of a project a link that stays in it is followed [X29]", (t) => {
	const at = places(t);
	mkdirSync(join(at.project, "config"));
	symlinkSync("config", join(at.project, ".pi"));
	const { path, warning } = make(at, "project");
	assert.equal(warning, undefined);
	assert.equal(path.startsWith(join(at.project, "config")), true);
});

test("A run directory, or a file in it, that is there already is not used [S17]", (t) => {
	const at = places(t);
	const spec = specFor(at.project);
	mkdirSync(linkOf(at), { recursive: true });
	symlinkSync(at.elsewhere, join(linkOf(at), spec.runId));
	const made = createRunDirectory(spec, { cwd: at.project, agentDirectory: at.agent, runsIn: "project" });
	assert.equal(made.ok && made.value.path.startsWith(at.agent), true);
	assert.equal(existsSync(join(at.elsewhere, "meta.json")), false);
});

test("A run is known by its path, in either place and by the paths of earlier versions, but not through a link [X30]", (t) => {
	const at = places(t);
	const id = specFor(at.project).runId;
	for (const path of [`/h/subagents/runs/project-12345678/${id}`, `/p/.pi/subagents/runs/${id}`]) {
		assert.equal(isRunPath(path, id), true, path);
	}
	for (const path of [`/p/runs/${id}`, `/p/.pi/subagents/runs/a/b/${id}`, `/p/.pi/subagents/runs/${id}/x`]) {
		assert.equal(isRunPath(path, id), false, path);
	}
	const { path, spec } = make(at);
	assert.equal(isRunPath(path, spec.runId), true);
	assert.equal(isRunPath(join(linkOf(at), spec.runId), spec.runId), false);
});
