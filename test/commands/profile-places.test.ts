import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { createProfile } from "../../src/commands/profile-changes.ts";
import { createLibrarySetup } from "../definitions/library-setup.ts";

test("A session whose directory is a link can have a profile of its project (X3)", async (t) => {
	const setup = createLibrarySetup();
	t.after(() => setup.dispose());
	const cwd = join(setup.root, "link");
	symlinkSync(setup.project, cwd);
	let offered: readonly string[] = [];
	const ui = {
		async select(_title: string, options: readonly string[]) {
			offered = options;
		},
		notify() {},
	};
	const context = { cwd, hasUI: true, ui } as unknown as ExtensionCommandContext;
	const { agentDirectory } = setup;
	const host = {
		agentDirectory,
		catalog: () => setup.load({ cwd }),
		list: () => [],
		models: () => [],
		imported: () => assert.fail("nothing is imported"),
		invalidate: () => setup.library.invalidate(),
	};
	await createProfile("x", { kind: "questions" }, context, host);
	assert.deepEqual(offered, [
		`Global (${join(agentDirectory, "agent-profiles")})`,
		`Project (${join(setup.project, ".pi/agent-profiles")})`,
	]);
});
