import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseForeign } from "../../../src/definitions/dialects/read-foreign.ts";
import { became, only, refusal, toolsOf, used } from "./reading.ts";

const parsed = (...lines: readonly string[]) => parseForeign(`---\n${lines.join("\n")}\n---\nBody\n`, "pi", "it.md");

describe("a restriction that is easy to miss [X37]", () => {
	test("Frontmatter in one line is not taken for a name, nor an indented field for a part of a text", () => {
		assert.notEqual(parsed("name: scout description: Fast tools: read, grep model: haiku").kind, "definition");
		assert.notEqual(parsed("name: it", "description: Use when: x", " tools: read").kind, "definition");
		const example = parsed("name: it", "description: Use when: x", "  user: fix it", "tools: read");
		assert.equal(example.kind, "definition");
	});

	test("A field that no table names is a restriction where its value says what the agent may do", () => {
		const field = (line: string) => refusal("pi", "name: it", "description: d", line);
		assert.match(field("domain: [{path: src/, read: true, write: false}]"), /"domain" may be a restriction/);
		assert.match(field("capabilities: read"), /"capabilities" may be a restriction/);
		assert.match(field("capabilities: [read, grep]"), /"capabilities" may be a restriction/);
		assert.match(field("access: read-only"), /"access" may be a restriction/);
		const topics = used("pi", "name: it", "description: d", "capabilities: [code review, testing]", "tags: [bash]");
		assert.deepEqual([became(topics, "capabilities"), became(topics, "tags")], ["not used", "not used"]);
	});

	test("Other programs' words for reading, listing and running are understood", () => {
		const tools = toolsOf("claude", "name: it", "description: d", "tools: read_file, list_dir, run_command");
		assert.deepEqual(tools, only("read", "ls", "bash"));
	});
});
