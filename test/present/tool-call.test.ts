import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToolResultMessage } from "@earendil-works/pi-ai";
import { columnsOf } from "../../src/present/fit.ts";
import { countLines, toolCallLines } from "../../src/present/tool-call.ts";
import { resultLine } from "../../src/present/tool-result.ts";
import type { WindowLine } from "../../src/present/window-line.ts";

const PLACE = { cwd: "/home/ann/shop", home: "/home/ann", width: 80 };

const preview = (name: string, args: unknown, width = PLACE.width): string[] =>
	toolCallLines(name, args, { ...PLACE, width }).map(({ text }) => text);

/** The marked parts of a line, each with its role. */
const marked = (line: WindowLine | undefined): string[] =>
	(line?.marks ?? []).map(([from, to, role]) => `${role} ${line?.text.slice(from, to)}`);

const GOLDEN: [spec: string, tool: string, args: unknown, text: string][] = [
	[
		"A118",
		"edit",
		{
			path: "src/a.ts",
			edits: [
				{ oldText: "a\n\nb\n", newText: "a\nb\nc\n" },
				{ oldText: "x", newText: "" },
			],
		},
		"edit → src/a.ts (2 edits) +3/-3",
	],
	[
		"A118",
		"edit",
		{ path: "src/a.ts", edits: '[{"oldText":"a","newText":"b\\nc"}]' },
		"edit → src/a.ts (1 edits) +2/-1",
	],
	["A118", "edit", { path: "src/a.ts", edits: { oldText: "a", newText: "b" } }, "edit → src/a.ts (1 edits) +1/-1"],
	["A118", "edit", { path: "src/a.ts", oldText: "a", newText: "b\nc" }, "edit → src/a.ts (1 edits) +2/-1"],
	["A118", "write", { path: "/home/ann/shop/src/new.ts", content: "one\n\n  \ntwo\n" }, "write → src/new.ts +2"],
	["A118", "grep", { pattern: "TODO", glob: "*.ts", path: "src" }, "grep → /TODO/ → *.ts"],
	["A118", "grep", { pattern: "TODO", path: "src" }, "grep → /TODO/ → src"],
	["A118", "grep", { pattern: "TODO" }, "grep → /TODO/"],
	["A118", "ls", {}, "ls → ."],
	["A117", "ls", { path: "src/" }, "ls → src/"],
	["A118", "find", { pattern: "*.ts" }, "find → *.ts"],
	["A117", "find", { pattern: "*.ts", path: "src/" }, "find → *.ts in src/"],
	["A118", "bash", { command: "\nnpm test\nnpm run check" }, "bash → npm test"],
	["A118", "read", { path: "src/a.ts" }, "read → src/a.ts"],
	["A118", "read", { path: "src/a.ts", offset: 40 }, "read → src/a.ts:40"],
	["A118", "read", { path: "src/a.ts", offset: 40, limit: 20 }, "read → src/a.ts:40+20 (20 lines)"],
	["A118", "read", { path: "src/a.ts", limit: 20 }, "read → src/a.ts:1+20 (20 lines)"],
	[
		"A119",
		"delegate_to_subagents",
		{ profile: "scout", tasks: [{ profile: "writer" }, {}, { profile: "scout" }] },
		"delegate_to_subagents → 3 tasks [scout, writer]",
	],
	["A119", "delegate_to_subagents", { tasks: [{}, {}] }, "delegate_to_subagents → 2 tasks"],
	["A119", "lsp_diagnostics", { file: "/home/ann/shop/a.ts" }, "lsp_diagnostics → a.ts"],
	["A119", "lsp_hover", { file: "a.ts", line: 3, column: 9 }, "lsp_hover → a.ts:3:9"],
	["A119", "lsp_find_symbol", { query: "parseTasks" }, "lsp_find_symbol → parseTasks"],
	["A119", "lsp_find_symbol", { query: "parseTasks", file: "a.ts" }, "lsp_find_symbol → parseTasks"],
	["A119", "lint", { files: "a.ts" }, "lint → a.ts"],
	[
		"A119",
		"lsp_refactor_symbol",
		{ file: "a.ts", line: 3, column: 9, newName: "parse" },
		"lsp_refactor_symbol → a.ts:3:9 → parse",
	],
	["A119", "fetch_content", { url: "https://example.org/a" }, "fetch_content → https://example.org/a"],
	["A119", "web_search", { query: "node streams" }, "web_search → node streams"],
	["A119", "fetch_repo", { url: "https://example.org/r.git" }, "fetch_repo → https://example.org/r.git"],
	["A119", "write_todos", { todos: [{}, {}, {}] }, "write_todos → 3 todos written"],
	["A119", "edit_todos", { action: "complete", indices: [0, 2] }, "edit_todos → complete [0, 2]"],
	["A119", "edit_todos", { description: "done with it", action: "x" }, "edit_todos → done with it"],
	["A119", "list_todos", {}, "list_todos"],
	["A119", "lint_files", { files: ["a.ts", "b.ts", "c.ts", "d.ts", "e.ts"] }, "lint → a.ts, b.ts, c.ts +2 more"],
	["A119", "lint_files", {}, "lint → (all)"],
	["A119", "get_subagent_output", { sessionId: "a3f7b9c2d1e8f4a1" }, "get_subagent_output → a3f7b9c2d1e8f4a1"],
	["A119", "workflow_step", { action: "next" }, "workflow_step → next"],
	["A120", "deploy", { to: "prod", force: true }, 'deploy {"to":"prod","force":true}'],
	["A120", "deploy", {}, "deploy"],
	["A120", "read", { unexpected: 1 }, 'read {"unexpected":1}'],
	["A121", "read", { path: "/home/ann/notes.md" }, "read → ~/notes.md"],
	["A121", "read", { path: "/home/ann/x/notes.md" }, "read → ~/x/notes.md"],
	["A121", "read", { path: "/etc/hosts" }, "read → /etc/hosts"],
	["A121", "bash", { command: "cd /home/ann/shop && npm test" }, "bash → npm test"],
	["A121", "bash", { command: 'cd "/home/ann/shop" && cd . && npm test' }, "bash → npm test"],
	["A121", "bash", { command: "cd /home/ann/other && npm test" }, "bash → cd ~/other && npm test"],
	["A121", "bash", { command: "cat /home/ann/shop/a /home/ann/b" }, "bash → cat a ~/b"],
	["A121", "bash", { command: "ls /home/ann/shop /home/ann/shopping" }, "bash → ls . ~/shopping"],
];

for (const [spec, tool, args, text] of GOLDEN) {
	test(`${spec}: ${text}`, () => assert.deepEqual(preview(tool, args), [text]));
}

test("What was added, removed and counted is marked, wherever the path had to be cut (A115)", () => {
	const path = `src/${"deep/".repeat(30)}file.ts`;
	const [edit] = toolCallLines("edit", { path, edits: [{ oldText: "a", newText: "b\nc" }] }, PLACE);
	assert.deepEqual(marked(edit), ["added +2", "removed -1"]);
	assert.match(edit?.text ?? "", /^edit → ….*deep\/file\.ts \(1 edits\) \+2\/-1$/);
	assert.equal(columnsOf(edit?.text ?? ""), 80);
	assert.deepEqual(marked(toolCallLines("write", { path: "a", content: "x" }, PLACE)[0]), ["added +1"]);
	assert.deepEqual(marked(toolCallLines("read", { path: "a", limit: 9 }, PLACE)[0]), ["added (9 lines)"]);
	assert.deepEqual(marked(toolCallLines("bash", { command: "echo +5/-3" }, PLACE)[0]), []);
});

test("A long chain of commands goes on below, no row wider than asked (A121)", () => {
	const command =
		"cd /home/ann/shop && npm ci --no-audit && npm run build && npm test -- --watch=false && npm run lint";
	assert.deepEqual(preview("bash", { command }, 50), [
		"bash → npm ci --no-audit && npm run build &&",
		"  │ npm test -- --watch=false && npm run lint",
	]);
	const endless = preview("bash", { command: Array.from({ length: 50 }, (_, n) => `make step-${n}`).join(" && ") }, 40);
	assert.equal(endless.length, 4);
	assert.match(endless[3] ?? "", /^ {2}│ make step-\d+ &&.*…$/);
	for (const row of endless) assert.ok(columnsOf(row) <= 40, row);
});

test("A preview is cut to its width, whatever the arguments are (A120)", () => {
	for (const width of [20, 40, 160]) {
		const [line] = preview("deploy", { text: "日本語".repeat(100) }, width);
		assert.ok(columnsOf(line ?? "") <= width && columnsOf(line ?? "") >= width - 1, `${width}: ${line}`);
	}
	for (const args of [null, undefined, "text", 7, [1], { path: 3, edits: "no", tasks: {}, indices: [{}] }]) {
		for (const tool of [
			"edit",
			"bash",
			"read",
			"grep",
			"find",
			"lint",
			"write_todos",
			"edit_todos",
			"lsp_x",
			"toString",
		]) {
			assert.equal(preview(tool, args).length, 1);
		}
	}
});

test("Tool names, paths and arguments are printable (S23)", () => {
	const evil = "a\u001b]52;c;ZXZpbA==\u0007b\u001b[2J\u202ec\rd";
	const lines = [
		["bash", { command: evil }],
		["read", { path: evil, limit: 3 }],
		["find", { pattern: evil, path: evil }],
		["edit_todos", { action: evil, indices: [evil] }],
		["lsp_rename", { file: evil, newName: evil }],
		["lint", { files: [evil] }],
		[evil, {}],
	].flatMap(([name, args]) => preview(name as string, args));
	for (const line of lines) assert.doesNotMatch(line, /[\p{Cc}\u202e]|ZXZpbA/u, JSON.stringify(line));
	assert.doesNotMatch(preview("other", { [evil]: evil }).join(), /[\p{Cc}\u202e]/u);
});

const result = (toolName: string, text: string, more: Partial<ToolResultMessage> = {}) =>
	resultLine({
		role: "toolResult",
		toolCallId: "1",
		toolName,
		content: [{ type: "text", text }],
		isError: false,
		timestamp: 0,
		...more,
	} as ToolResultMessage);

test("Results of ls and find are counted (A117)", () => {
	const texts = (line: WindowLine | undefined) => line?.text;
	assert.equal(texts(result("ls", "a.ts\nb.ts\nsrc/")), "  2 files, 1 dir");
	assert.equal(texts(result("ls", "src/\ntest/")), "  2 dirs");
	assert.equal(texts(result("ls", "(empty directory)")), "  (empty)");
	assert.equal(
		texts(
			result("ls", "a\nb/\n\n[500 entries limit reached. Use limit=1000 for more]", {
				details: { entryLimitReached: 500 },
			}),
		),
		"  1 file, 1 dir+",
	);
	assert.equal(texts(result("find", "a.ts\nb.ts\nc.ts")), "  3 matches");
	assert.equal(texts(result("find", "a.ts")), "  1 match");
	assert.equal(texts(result("find", "No files found matching pattern")), "  0 matches");
	assert.equal(texts(result("find", "a\nb\n\n[1000 results limit reached]")), "  2 matches+");
	assert.deepEqual(marked(result("ls", "a\nb\nsrc/")), ["added 2", "added 1"]);
	assert.equal(result("ls", "no such directory", { isError: true }), undefined);
	assert.equal(result("read", "text"), undefined);
});

test("Only lines that are not blank are counted (A121)", () => {
	assert.deepEqual(
		[countLines("a\n\n \t\nb\r\n"), countLines(""), countLines("\n"), countLines(undefined)],
		[2, 0, 0, 0],
	);
});

test("A value that cannot be turned into words does not break the preview (S23)", () => {
	for (const [name, args] of [
		["lint", { files: [{ toString: 1 }] }],
		["edit_todos", { action: "complete", indices: [{ toString: 1 }] }],
	] as const) {
		assert.doesNotThrow(() => toolCallLines(name, args, { width: 80, cwd: "/p", home: "/h" }));
	}
});
