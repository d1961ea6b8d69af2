import assert from "node:assert/strict";
import { test } from "node:test";
import { coversAllMcpTools, isMcpTool, matchesTool } from "../../src/domain/tool-pattern.ts";

test("A star in a tool's name stands for any characters, and nothing else does", () => {
	const cases: [pattern: string, name: string, matches: boolean][] = [
		["read", "read", true],
		["read", "reads", false],
		["r.ad", "read", false],
		["*", "read", true],
		["mcp__s__*", "mcp__s__t", true],
		["mcp__s__*", "mcp__s2__t", false],
		["mcp__*__delete_*", "mcp__s__delete_all", true],
		["mcp__*__delete_*", "mcp__s__read_all", false],
		["a*a", "a", false],
		["a*a", "aa", true],
		["a*bc*c", "abc", false],
		["a*b*c", "axxbyyc", true],
	];
	for (const [pattern, name, matches] of cases) assert.equal(matchesTool(pattern, name), matches, `${pattern} ${name}`);
});

test("MCP tools are known by their prefix, and so are the three that read resources", () => {
	assert.ok(["mcp__s__t", "mcp__*", "read_mcp_resource", "list_mcp_resources"].every(isMcpTool));
	assert.ok(!["read", "codemode", "mcp", "mcp*"].some(isMcpTool));
	assert.ok(["mcp__*", "mcp*", "m*", "*"].every((pattern) => coversAllMcpTools([pattern])));
	assert.ok(!["mcp__s__*", "mcp__*t", "read*", "mcp__s__t"].some((pattern) => coversAllMcpTools([pattern])));
});
