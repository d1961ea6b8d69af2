import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { listProfilesTool } from "../../src/tools/list-profiles.ts";
import { createLibrarySetup, type LibrarySetup, markdown } from "../definitions/library-setup.ts";
import { createRecordedHost, type RecordedHost } from "../rig/recorded-host.ts";

let setup: LibrarySetup;
let recorded: RecordedHost;
let before: string | undefined;
beforeEach(() => {
	setup = createLibrarySetup();
	before = process.env.PI_AGENT_DIR;
	process.env.PI_AGENT_DIR = setup.agentDirectory;
	recorded = createRecordedHost({ cwd: setup.project });
});
afterEach(() => {
	recorded.shutDown();
	if (before === undefined) delete process.env.PI_AGENT_DIR;
	else process.env.PI_AGENT_DIR = before;
	setup.dispose();
});

async function list(name?: string): Promise<{ text: string; details: { count: number; profiles?: object } }> {
	const tool = listProfilesTool(recorded.host);
	const result = await tool.execute("call", name === undefined ? {} : { name }, undefined, undefined, recorded.context);
	const [content] = result.content;
	assert.ok(content?.type === "text");
	return { text: content.text, details: result.details };
}

const MANY = 1_000;
function writeMany(): void {
	for (let at = 0; at < MANY; at++) {
		const name = `agent-${String(at).padStart(4, "0")}`;
		setup.write(
			`agent/agent-profiles/${name}.md`,
			`---\nname: ${name}\ndescription: ${"ä".repeat(90)}\n---\nYou are it.`,
		);
	}
}

describe("list_subagent_profiles stays short", () => {
	test("A thousand definitions make at most 8 kB of whole lines, and the number of the others", async () => {
		writeMany();
		const { text, details } = await list();
		assert.ok(Buffer.byteLength(text) <= 8_000, `${Buffer.byteLength(text)} bytes`);
		const lines = text.split("\n");
		const shown = lines.slice(0, -1);
		assert.ok(shown.length > 20);
		for (const line of shown) assert.match(line, /^agent-\d{4} \[global profile\] · .* · "You are it\."$/);
		assert.equal(lines.at(-1), `… ${MANY - shown.length} more: ask with a part of the name as name`);
		assert.equal(details.count, MANY);
		assert.equal(Object.keys(details.profiles ?? {}).length, shown.length);
	});

	test("A part of a name, in any case, leaves the others out; one that fits nothing names what there is", async () => {
		writeMany();
		setup.write("agent/agent-profiles/Reviewer.md", markdown("Reviewer"));
		const found = await list("REVIEW");
		assert.match(found.text, /^Reviewer \[global profile\]/);
		assert.deepEqual([found.text.split("\n").length, found.details.count], [1, 1]);
		const none = await list("reviewers");
		assert.match(none.text, /^No name has "reviewers" in it\. Names: Reviewer, .* and 971 more$/);
		assert.equal(none.details.count, 0);
		assert.ok(Buffer.byteLength((await list("x".repeat(100_000))).text) <= 8_000);
	});

	test("Problems are bounded too, and never crowd out the definitions", async () => {
		setup.write("agent/agent-profiles/fine.md", markdown("fine"));
		for (let at = 0; at < 300; at++) setup.write(`agent/agent-profiles/b${at}.md`, "---\nname: [\n---\n");
		const { text } = await list();
		assert.ok(Buffer.byteLength(text) <= 8_000, `${Buffer.byteLength(text)} bytes`);
		assert.match(text, /^fine \[global profile\]/);
		assert.match(text, /\n- … \d+ more: \/profile list has them$/);
	});
});
