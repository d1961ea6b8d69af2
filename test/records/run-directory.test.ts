import assert from "node:assert/strict";
import {
	existsSync,
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	realpathSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createRunDirectory } from "../../src/records/run-directory.ts";
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

function make({ project, agent }: Places) {
	const spec = specFor(project);
	const made = createRunDirectory(spec, project, agent);
	assert.ok(made.ok, JSON.stringify(made));
	return { ...made.value, spec };
}

const modeOf = (path: string) => (lstatSync(path).mode & 0o777).toString(8);

test("X7, S14, S15: a run directory is the person's alone under any umask, and git does not see it", (t) => {
	for (const umask of [0o000, 0o022, 0o077, 0o777]) {
		const before = process.umask(umask);
		const at = (() => {
			try {
				return make(places(t));
			} finally {
				process.umask(before);
			}
		})();
		assert.deepEqual(
			[modeOf(at.path), modeOf(join(at.path, "..")), modeOf(join(at.path, "meta.json"))],
			["700", "700", "600"],
		);
		assert.equal(readFileSync(join(at.path, "..", ".gitignore"), "utf8"), "*\n");
		assert.equal(at.warning, undefined);
	}
});

test("X7, F46: where the project cannot be written the trail goes under the agent directory, with the reason", (t) => {
	const at = places(t);
	writeFileSync(join(at.project, ".pi"), "in the way");
	const { path, warning } = make(at);
	assert.equal(path.startsWith(join(at.agent, "subagents", "runs")), true);
	assert.match(warning ?? "", /^Sub-agent runs are kept in .*: ENOTDIR/);
});

test("F46: where nothing can be written there is an error that names both places, and no throw", (t) => {
	const { project, agent } = places(t);
	for (const place of [project, agent]) rmSync(place, { recursive: true });
	const made = createRunDirectory(specFor(project), project, agent);
	assert.match(made.ok ? "" : made.error, /^No run directory could be made: .*project.*; .*agent/);
});

test("X29, S17: a link that leads out of the project is refused, whichever part of the path it is", (t) => {
	for (const parts of [[".pi"], [".pi", "subagents"], [".pi", "subagents", "runs"]]) {
		const at = places(t);
		mkdirSync(join(at.project, ...parts.slice(0, -1)), { recursive: true });
		symlinkSync(at.elsewhere, join(at.project, ...parts));
		const { path, warning } = make(at);
		assert.equal(path.startsWith(at.agent), true, parts.join("/"));
		assert.match(warning ?? "", /is a link that leaves/);
		assert.deepEqual(readdirSync(at.elsewhere), []);
	}
});

test("X29: a link that stays inside the project is followed", (t) => {
	const at = places(t);
	mkdirSync(join(at.project, "config"));
	symlinkSync("config", join(at.project, ".pi"));
	const { path, warning } = make(at);
	assert.equal(warning, undefined);
	assert.equal(path.startsWith(join(at.project, "config")), true);
});

test("S17: a run directory, or a file in it, that is there already is not used", (t) => {
	const at = places(t);
	const spec = specFor(at.project);
	const runs = join(at.project, ".pi", "subagents", "runs");
	mkdirSync(runs, { recursive: true });
	symlinkSync(at.elsewhere, join(runs, spec.runId));
	const made = createRunDirectory(spec, at.project, at.agent);
	assert.equal(made.ok && made.value.path.startsWith(at.agent), true);
	assert.equal(existsSync(join(at.elsewhere, "meta.json")), false);
});
