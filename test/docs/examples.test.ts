import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { delegate, type ToolOutcome } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import {
	type ModelRequest,
	type ModelServer,
	type Reply,
	startModelServer,
	text,
	toolCall,
} from "../rig/model-server.ts";
import { runPi } from "../rig/pi.ts";
import { allBlocks, type Block, blocksOf, DOCUMENTS, describeBlock, ROOT, readDocument } from "./documents.ts";

const EXTENSION = join(ROOT, "index.js");
const LANGUAGES = ["", "sh", "json", "markdown", "text", "js", "ts"];

/** Models by the names that the documents use, on the scripted server. */
const anthropic = (url: string) => ({
	baseUrl: url,
	api: "openai-completions",
	apiKey: "rig-key-anthropic-0123",
	models: ["claude-haiku-4-5", "claude-sonnet-4-5"].map((id) => ({
		id,
		name: id,
		contextWindow: 128_000,
		maxTokens: 8_192,
	})),
});

const answerOf = (request: ModelRequest): Reply =>
	request.tools.includes("subagent_finalize")
		? toolCall("subagent_finalize", { status: "SUCCESS", result: "handed over" })
		: text("an answer");

describe("what the documents show is so", () => {
	let server: ModelServer;
	let home: Home;
	before(async () => {
		server = await startModelServer();
		home = createHome(server, { providers: { anthropic: anthropic(server.url) } });
	});
	after(async () => {
		await server.close();
		home.dispose();
	});

	/** A definition of the documents, where its document says that it belongs. */
	const define = ({ file, text: content }: Block) => {
		const name = /^name: (.*)$/m.exec(content)?.[1] ?? "";
		const directory = file.endsWith("background.md") ? "subagents" : "agent-profiles";
		home.write(join(home.agentDir, directory, `${name}.md`), content);
		return name;
	};

	test("Every block says what it is, and every shell command is run: here, by another test, or by the checks of a change", () => {
		for (const block of DOCUMENTS.flatMap(blocksOf)) {
			assert.ok(LANGUAGES.includes(block.language), `${describeBlock(block)}: ${block.language}`);
		}
		const elsewhere = [
			"pi install .", // test/package/install.test.ts
			"npm ci && npm run demo", // below, and `npm ci` by the checks
			...readFileSync(join(ROOT, ".ci", "run"), "utf8").split("\n"),
		];
		const isRun = (line: string) =>
			elsewhere.includes(line) ||
			line.split(" && ").every((part) => elsewhere.some((known) => known.split(" && ").includes(part)));
		for (const block of allBlocks("sh")) {
			for (const line of block.text.split("\n"))
				assert.ok(isRun(line), `${describeBlock(block)}: nothing runs "${line}"`);
		}
	});

	test("npm run demo reaches a finished delegation without key or network", async () => {
		const { stdout } = await promisify(execFile)("npm", ["run", "--silent", "demo"], { cwd: ROOT, timeout: 120_000 });
		assert.equal(stdout.match(/^✓ \w+: completed \(session: [0-9a-f]{16}\)$/gm)?.length, 4);
		assert.match(stdout, /That is what four sub-agents found out/);
	});

	test("Definitions and calls: each is taken by its tool as it stands", async () => {
		for (const block of allBlocks("markdown")) assert.notEqual(define(block), "", describeBlock(block));
		const calls = allBlocks("json")
			.filter(({ text: json }) => !("subagents" in (JSON.parse(json) as object)))
			.map((block) => ({ block, args: JSON.parse(block.text) as Record<string, unknown> }));
		assert.ok(calls.length >= 8);
		home.write("src/server.ts", "const limit = 3;\n");
		const makers = calls.filter(({ args }) => !("sessionId" in args && Object.keys(args).length === 1));
		const readers = calls.filter((call) => !makers.includes(call));
		const rounds = makers.map(({ block, args }) => [{ name: toolOf(block, args), args }]);
		const { results } = await delegate(home, server, {
			extension: EXTENSION,
			rounds: [...rounds, [{ name: "list_subagent_profiles", args: {} }]],
			child: answerOf,
			pi: { timeoutMs: 110_000, args: ["--session-dir", join(home.root, "sessions")] },
		});
		for (const [index, { block }] of makers.entries()) assertAnswered(results[index], block);
		assert.match(
			results.at(-1)?.text ?? "",
			/^reviewer \[global profile\][^\n]*\nscout \[global profile; also: preset\]/m,
		);
		const [, sessionId] =
			/routes: completed \(session: ([0-9a-f]{16})/.exec(results.map((result) => result.text).join("\n")) ?? [];
		for (const { block, args } of readers) {
			assert.match(String(args.sessionId), /^[0-9a-f]{16}$/, `${describeBlock(block)} is an id of a status line`);
			const read = ["get_subagent_output", "get_subagent_session"].map((name) => ({
				name,
				args: { ...args, sessionId },
			}));
			const later = await delegate(home, server, {
				extension: EXTENSION,
				rounds: [read],
				child: answerOf,
				pi: { args: ["--session-dir", join(home.root, "sessions"), "--continue"] },
			});
			const texts = later.results.slice(-2).map((result) => result.text);
			assert.equal(texts[0], "an answer");
			assert.match(texts[1] ?? "", /^Where are the HTTP routes registered\?/);
		}
	});

	test("The commands for people do what the documents say", async () => {
		const lines = allBlocks("text").flatMap(({ text: content }) =>
			content.split("\n").filter((line) => line.startsWith("/")),
		);
		assert.deepEqual(lines, ["/profile create scout --from scout"]);
		const fresh = createHome(server);
		try {
			for (const line of lines) {
				const { stderr } = await runPi(fresh, { mode: "text", extension: EXTENSION, prompt: line }).done;
				assert.match(stderr, /^Saved global profile "scout": /);
			}
			assert.ok(existsSync(join(fresh.agentDir, "agent-profiles", "scout.md")));
		} finally {
			fresh.dispose();
		}
	});

	test("The examples are definitions that run as they are, by name and with all of their fields", async () => {
		const files = readdirSync(join(ROOT, "examples")).filter((name) => name.endsWith(".md"));
		assert.deepEqual(files.sort(), ["reviewer.md", "sandboxed.md", "scout.md", "worker.md"]);
		const fresh = createHome(server);
		try {
			for (const file of files) {
				const path = fresh.write(join(fresh.agentDir, "agent-profiles", file), readDocument(`examples/${file}`));
				writeFileSync(path, readDocument(`examples/${file}`), { mode: 0o600 });
			}
			fresh.write("AGENTS.md", "CONTEXT-FILE");
			const names = files.map((file) => file.replace(".md", ""));
			const { result, childRequests, stderr } = await delegate(fresh, server, {
				extension: EXTENSION,
				args: { tasks: names.map((name) => ({ name, prompt: `Be the ${name}.`, profile: name })) },
				child: answerOf,
				pi: { timeoutMs: 60_000 },
			});
			assert.deepEqual(
				result.text.split("\n").map((line) => line.replace(/session: \w+/, "session")),
				names.map(
					(name) =>
						`✓ ${name}: completed (session) (profile: ${name}, mock/mock-1${name === "reviewer" ? " high" : " off"})`,
				),
			);
			assert.equal(stderr, "");
			const of = (name: string) => childRequests.find(({ lastUser }) => lastUser === `Be the ${name}.`);
			assert.deepEqual(of("scout")?.tools.toSorted(), ["find", "grep", "ls", "read"]);
			assert.deepEqual(of("sandboxed")?.tools.toSorted(), ["find", "grep", "ls", "read"]);
			assert.deepEqual(of("reviewer")?.tools.includes("bash"), true);
			assert.ok(of("worker")?.tools.includes("edit"));
			const systemOf = (name: string) => of(name)?.system ?? "";
			assert.match(systemOf("scout"), /path:first-last/);
			assert.match(systemOf("worker"), /hand it back finished/);
			assert.match(systemOf("worker"), /CONTEXT-FILE/);
			assert.doesNotMatch(systemOf("sandboxed"), /CONTEXT-FILE/);
		} finally {
			fresh.dispose();
		}
	});
});

function toolOf({ heading }: Block, args: Record<string, unknown>): string {
	if ("includeCompleted" in args) return "background_agent_status";
	if (heading.startsWith("background_agent")) return "background_agent";
	const [first] = (args.tasks ?? []) as Record<string, unknown>[];
	return first && "prompt" in first ? "delegate_to_subagents" : "subagent";
}

function assertAnswered(result: ToolOutcome | undefined, block: Block): void {
	assert.ok(result, describeBlock(block));
	assert.equal(result.isError, false, `${describeBlock(block)}: ${result.text}`);
	assert.doesNotMatch(result.text, /^✗|: failed|^Error/m, describeBlock(block));
}
