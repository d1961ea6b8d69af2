import assert from "node:assert/strict";
import { test } from "node:test";
import { describeFeatures, isBefore, mcpSupportOf } from "../../src/domain/pi-version.ts";

test("Which pi has MCP servers, and which can be started without them", () => {
	const versions = ["0.87.1", "0.98.9", "0.99.0", "1.0.3", "1.0.4", "1.5.0", "2.0.0-beta.1"];
	assert.deepEqual(versions.map(mcpSupportOf), [
		...["none", "none", "always on", "always on", "switchable", "switchable", "switchable"],
	]);
});

test("Versions are compared part by part, as numbers", () => {
	assert.equal(isBefore("v22.9.0", [22, 19]), true);
	assert.equal(isBefore("22.19", [22, 19, 0]), false);
	assert.equal(isBefore("0.87.0", [0, 87, 1]), true);
});

test("The doctor's sentence about a version says what it makes possible, or which one would", () => {
	assert.match(describeFeatures("0.87.1"), /need pi 0\.99 or later/);
	assert.match(describeFeatures("1.0.3"), /are available\. With pi 1\.0\.4 or later/);
	assert.match(describeFeatures("1.5.0"), /are available\. Sub-agents that cannot use MCP tools start no MCP server\./);
});
