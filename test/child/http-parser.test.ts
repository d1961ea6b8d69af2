import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cachedDataVersionTag } from "node:v8";
import { withSimpleHttpParser } from "../../src/child/http-parser.ts";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelServer, startModelServer, text, toolCalls } from "../rig/model-server.ts";
import { piCommand } from "../rig/pi.ts";

const EXTENSION = fileURLToPath(new URL("./fixtures/simple-http-parser.ts", import.meta.url));
const TOOL_CALLS = 30;

/** The function that parses is far larger than this; Node's own lexer has small ones that may be optimized, at no cost. */
const PARSER_BYTES = 10_000;

/** Bytes of the largest WebAssembly function that V8 says it has optimized. */
const largestOptimized = (trace: string): number =>
	Math.max(0, ...[...trace.matchAll(/using TurboFan, .*bodysize (\d+)/gi)].map(([, bytes]) => Number(bytes)));

describe("the HTTP parser of a child", () => {
	let server: ModelServer;
	let home: Home;
	before(async () => {
		const useTool = () => toolCalls([{ name: "bash", args: { command: "true" } }]);
		server = await startModelServer(({ turn }) => (turn < TOOL_CALLS ? useTool() : text("ok")));
		home = createHome(server);
	});
	after(async () => {
		home.dispose();
		await server.close();
	});

	/** What V8 says of the WebAssembly functions that a pi compiles while it makes a few requests. */
	const compiledBy = async (...args: string[]): Promise<string> => {
		const [node = "", cli = "", ...rest] = piCommand(["--mode", "json", "-p", "--no-session", ...args, "hello"]);
		const run = promisify(execFile)(node, ["--trace-wasm-compilation-times", cli, ...rest], {
			cwd: home.project,
			env: home.env,
			timeout: 120_000,
			maxBuffer: 64 * 1024 * 1024,
		});
		run.child.stdin?.end();
		const { stdout } = await run;
		assert.match(stdout, /"agent_settled"/);
		return stdout;
	};

	test("Is not optimized in the background, which would hold up the end of a child by 100 ms", async () => {
		assert.ok(largestOptimized(await compiledBy()) > PARSER_BYTES, "a bare pi has it optimized");
		const simple = await compiledBy("-e", EXTENSION);
		assert.match(simple, /Liftoff/i);
		assert.ok(largestOptimized(simple) < PARSER_BYTES, `${largestOptimized(simple)} bytes were optimized`);
	});

	test("V8 is as it was once the parser is compiled: cached code of other modules stays valid", async () => {
		const tag = cachedDataVersionTag();
		await withSimpleHttpParser(async () => assert.notEqual(cachedDataVersionTag(), tag));
		assert.equal(cachedDataVersionTag(), tag);
		await assert.rejects(withSimpleHttpParser(() => Promise.reject(new Error("no connection"))));
		assert.equal(cachedDataVersionTag(), tag);
	});
});
