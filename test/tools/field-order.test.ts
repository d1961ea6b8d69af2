import assert from "node:assert/strict";
import { test } from "node:test";
import { backgroundTool } from "../../src/tools/background-agent.ts";
import { delegateParameters } from "../../src/tools/delegate-schema.ts";
import { subagentParameters } from "../../src/tools/subagent-schema.ts";
import { createSetup } from "../rig/fake-run.ts";
import { createRecordedHost } from "../rig/recorded-host.ts";

test("Issue 9.1: what decides how a child is started comes before the long texts", (context) => {
	const one = ["preset", "agent", "sessionId", "model", "cwd", "task"];
	assert.deepEqual(Object.keys(delegateParameters.properties), ["profile", "tasks"]);
	assert.deepEqual(Object.keys(delegateParameters.properties.tasks.items.properties), [
		...["name", "profile", "cwd", "timeout", "resume", "files"],
		"prompt",
	]);
	const { properties } = subagentParameters([]);
	assert.deepEqual(Object.keys(properties), [...one, "tasks"]);
	assert.deepEqual(Object.keys(properties.tasks.items.properties), one);
	const setup = createSetup();
	context.after(() => setup.dispose());
	const { host } = createRecordedHost({ cwd: setup.project });
	assert.deepEqual(Object.keys(backgroundTool(host, []).parameters.properties), ["preset", "model", "cwd", "task"]);
});
