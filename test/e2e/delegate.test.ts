import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { delegate, type ToolOutcome } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import {
	drop,
	garbage,
	type ModelRequest,
	type ModelServer,
	type Reply,
	startModelServer,
	status,
	text,
} from "../rig/model-server.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const OWN_TOOLS = ["delegate_to_subagents", "get_subagent_output", "get_subagent_session", "list_subagent_profiles"];
const EMOJI = "👩‍👩‍👧 Straße 🎉 done";

interface Details {
	readonly globalStatus: string;
	readonly sessionIds: string[];
	readonly windows: { status: string; exitCode: number | null; stopReason?: string; errorMessage?: string }[];
}

interface Meta {
	readonly label: string;
	readonly cwd: string;
	readonly invocation: { readonly args: readonly string[] };
}

describe("delegate_to_subagents with the real pi", () => {
	let server: ModelServer;
	let home: Home;
	before(async () => {
		server = await startModelServer();
		home = createHome(server);
	});
	after(async () => {
		await server.close();
		home.dispose();
	});
	const runsIn = (place: Home) => join(place.project, ".pi", "subagents", "runs");
	const metas = (place: Home): Meta[] =>
		readdirSync(runsIn(place))
			.filter((name) => name !== ".gitignore")
			.map((name) => JSON.parse(readFileSync(join(runsIn(place), name, "meta.json"), "utf8")) as Meta);
	const lines = ({ text: all }: ToolOutcome, ids: readonly string[]) => {
		const found = all.split("\n");
		return found.map((line, index) => line.replace(` (session: ${ids[index]})`, ""));
	};

	test("16 tasks: every prompt arrives exactly, every end is told truly, in task order (F24, F25, F31, S09)", async () => {
		const tries = new Map<string, number>();
		const again = (name: string) => {
			tries.set(name, (tries.get(name) ?? 0) + 1);
			return tries.get(name) ?? 0;
		};
		const after429 = (attempt: number) => status(429, { error: { message: `slow down, attempt ${attempt}` } });
		const tasks: [name: string, prompt: string, answer: () => Reply, line: RegExp][] = [
			["dash", "-fix the bug", () => text("a"), /^✓ dash: completed$/],
			["help", "--help", () => text("a"), /^✓ help: completed$/],
			["at", "@README.md and @name do it", () => text("a"), /^✓ at: completed$/],
			["slash", "/review the code", () => text("a"), /^✓ slash: completed$/],
			["no ascii", "日本語だけ🎉", () => text("a"), /^✓ no ascii: completed$/],
			["blank", "  \n spaces around \n\n", () => text("a"), /^✓ blank: completed$/],
			["long", `${"long 🎉 ".repeat(37_500)}!`.slice(0, 300_000), () => text("a"), /^✓ long: completed$/],
			["emoji", "emoji", () => text(EMOJI, { splitBytes: 1, chunkChars: 1 }), /^✓ emoji: completed$/],
			["400", "400", () => status(400, { error: { message: "bad thing" } }), /^✗ 400: error — .*bad thing/],
			["401", "401", () => status(401, { error: { message: "who are you" } }), /^✗ 401: error — 401.*who are you/],
			["429", "429", () => after429(again("429")), /^✗ 429: .*slow down, attempt 4/],
			["500", "500", () => (again("500") === 1 ? status(500) : text("second try")), /^✓ 500: completed$/],
			["cut", "cut", () => drop({ text: "half an answer" }), /^✗ cut: error — ./],
			["garbage", "garbage", () => garbage(), /^✗ garbage: error — ./],
			["empty", "empty", () => text(""), /^✓ empty: completed, no text output$/],
			[
				"limit",
				"limit",
				() => text("as far as", { finish: "length" }),
				/^✓ limit: completed, cut by the output limit$/,
			],
		];
		const answerOf = (request: ModelRequest): Reply => {
			const task = tasks.find(([, prompt]) => prompt === request.lastUser);
			return task ? task[2]() : status(400, { error: { message: `not a prompt: ${request.lastUser.slice(0, 50)}` } });
		};
		const done = await delegate(home, server, {
			extension: EXTENSION,
			args: { tasks: tasks.map(([name, prompt]) => ({ name, prompt })) },
			child: answerOf,
			pi: { timeoutMs: 90_000 },
		});
		const { result, childRequests } = done;
		const { sessionIds, windows, globalStatus } = result.details as Details;
		assert.equal(result.isError, false);
		assert.equal(globalStatus, "done");
		assert.equal(new Set(sessionIds).size, 16);
		for (const id of sessionIds) assert.match(id, /^[0-9a-f]{16}$/);
		const told = lines(result, sessionIds);
		assert.equal(told.length, 16);
		for (const [index, [, , , line]] of tasks.entries()) assert.match(told[index] ?? "", line);

		for (const [, prompt] of tasks) {
			const own = childRequests.filter((request) => request.lastUser === prompt);
			assert.ok(own.length > 0, `no request for ${prompt.slice(0, 40)}`);
			assert.deepEqual(
				own[0]?.messages.map((message) => [message.role, message.text === prompt]),
				[["user", true]],
			);
		}
		for (const request of childRequests) {
			assert.deepEqual(
				request.tools.filter((tool) => OWN_TOOLS.includes(tool)),
				[],
			);
			assert.ok(request.tools.includes("bash"));
		}
		assert.equal(tries.get("429"), 4);
		assert.equal(tries.get("500"), 2);
		assert.equal(windows[7]?.status, "completed");
		const emoji = JSON.stringify((result.details as { windows: { allMessages: unknown }[] }).windows[7]?.allMessages);
		assert.ok(emoji.includes(EMOJI));
		assert.deepEqual([windows[9]?.exitCode, windows[9]?.stopReason], [0, "error"]);

		// X14: ten children were answered with the server's figures, the second try among them.
		const usage = result.usage as { input: number; output: number; cost: { total: number } };
		const answered = tasks.filter(([name]) => !["400", "401", "429", "cut", "garbage"].includes(name)).length;
		assert.equal(usage.input, answered * 100);
		assert.ok(usage.cost.total > 0);
		assert.deepEqual(server.scriptErrors, []);
		for (const { invocation } of metas(home)) {
			assert.ok(!JSON.stringify(invocation).includes("long 🎉"), "X5: a prompt is never an argument");
			const flags = invocation.args.slice(1).join(" ");
			assert.match(
				flags,
				/^--mode json -p --no-session -e \S+extension\.(ts|js) --provider mock --model mock-1 --thinking off$/,
			);
		}
	});

	test("One call after the other: refusals spawn nothing, a mistake is its task's own, all failed is an error", async () => {
		const place = createHome(server);
		try {
			const below = join(place.project, "below");
			mkdirSync(below);
			place.write("below/a.txt", "one\ntwo\nthree\n");
			const one = { name: "t", prompt: "p" };
			const call = (tasks: unknown) => [{ name: "delegate_to_subagents", args: { tasks } }];
			const refused = [
				call([]),
				call(Array.from({ length: 17 }, () => one)),
				call([{ ...one, timeout: 0 }]),
				call([{ ...one, timeout: 86_401 }]),
				call([{ ...one, timeout: "soon" }]),
				call([{ name: "no prompt" }]),
				call([{ ...one, files: [{ path: "a", head: 0 }] }]),
				call([{ ...one, files: [{ path: "a", tail: -1 }] }]),
			];
			const rounds = [
				...refused,
				call([
					{ name: "relative", prompt: "p", cwd: "below" },
					{ name: "up", prompt: "p", cwd: `${place.project}/../x` },
					{ name: "gone", prompt: "p", cwd: `${place.project}/gone` },
					{ name: "loop", prompt: "p", cwd: `/${"x".repeat(5_000)}` },
					{
						name: "good",
						prompt: "read this",
						cwd: below,
						files: ["a.txt", { path: "a.txt", start: 2, end: 2 }, "gone.txt", { path: "a.txt", tail: 1 }, "."],
					},
				]),
				call([
					{ name: "refused", prompt: "401" },
					{ name: "nowhere", prompt: "p", cwd: "/nowhere/at/all" },
				]),
			];
			const done = await delegate(place, server, {
				extension: EXTENSION,
				rounds,
				child: (request) => (request.lastUser === "401" ? status(401, { error: { message: "no key" } }) : text("read")),
				pi: { args: ["--session", join(place.root, "session.jsonl")], timeoutMs: 60_000 },
			});
			const { results } = done;
			assert.equal(results.length, rounds.length);
			for (const [index, result] of results.slice(0, refused.length).entries()) {
				assert.match(result.text, /^Validation failed for tool "delegate_to_subagents"/, `refusal ${index}`);
				assert.equal(result.isError, true);
			}
			assert.equal(done.childRequests.length, 2);
			assert.equal(metas(place).length, 2);

			const mixed = results.at(-2);
			assert.ok(mixed);
			const ids = (mixed.details as Details).sessionIds;
			assert.deepEqual(lines(mixed, ids).slice(0, 3), [
				"✗ relative: error — cwd must be an absolute path",
				"✗ up: error — cwd must not contain '..' path segments",
				`✗ gone: error — cwd does not exist: ${place.project}/gone`,
			]);
			assert.match(lines(mixed, ids)[3] ?? "", /^✗ loop: error — cwd cannot be used: /);
			const attached = '3 of 5 files attached: "gone.txt" was not found; "." could not be read';
			assert.equal(lines(mixed, ids)[4], `✓ good: completed [${attached}]`);
			assert.equal(mixed.isError, false);
			const prompt = done.childRequests.find((request) => request.lastUser.includes("read this"))?.lastUser;
			const blocks = ["=== a.txt ===\none\ntwo\nthree", "=== a.txt ===\ntwo", "[file not found: gone.txt]"];
			assert.equal(prompt, [...blocks, "=== a.txt ===\nthree", "[could not read file: .]", "read this"].join("\n\n"));

			// X13: pi is told that the call failed, and what it cost is kept.
			const failed = results.at(-1);
			assert.ok(failed);
			assert.equal(failed.isError, true);
			assert.match(
				failed.text,
				/^✗ refused: error — 401.*no key.* \(session: \w{16}\)\n✗ nowhere: error — cwd does not/,
			);
			assert.equal((failed.details as Details).windows.length, 2);
			assert.ok(failed.usage);
			const entries = readFileSync(join(place.root, "session.jsonl"), "utf8").trim().split("\n");
			const kept = entries
				.map((line) => JSON.parse(line) as { message?: { role: string; toolCallId: string; usage?: unknown } })
				.filter(({ message }) => message?.role === "toolResult" && message.toolCallId === failed.toolCallId);
			assert.ok(kept[0]?.message?.usage);
		} finally {
			place.dispose();
		}
	});

	test("Extensions of the person that hang, chatter or break: the truth is told, and nothing waits for them (F17, F32)", async () => {
		const place = async (source: string) => {
			const own = await startModelServer();
			const its = createHome(own);
			const guarded = `export default function (pi) { if (process.env.PI_SUBAGENTS_CHILD !== "1") return; ${source} }`;
			its.write(join(its.agentDir, "extensions", "awkward.js"), guarded);
			try {
				const done = await delegate(its, own, {
					extension: EXTENSION,
					args: { tasks: [{ name: "t", prompt: "go" }] },
					child: () => text("answer"),
				});
				return done.result;
			} finally {
				await own.close();
				its.dispose();
			}
		};
		const [hanging, chatty, broken] = await Promise.all([
			place('setInterval(() => {}, 1000); pi.on("session_shutdown", () => new Promise(() => {}));'),
			place('console.log("hello from an extension"); console.error("careful");'),
			place('throw new Error("this extension is broken");'),
		]);
		assert.match(hanging.text, /^✓ t: completed \(session: \w{16}\)$/);
		assert.equal((hanging.details as Details).windows[0]?.exitCode, 0);
		assert.match(chatty.text, /^✓ t: completed \(session: \w{16}\)$/);
		assert.match(broken.text, /^✗ t: error — Sub-agent process exited with code 1: .*this extension is broken/);
		assert.equal(broken.isError, true);
	});

	test("A child in the same project is trusted exactly as its parent is (X12, S08)", async () => {
		const cases: [name: string, project: "asks" | "asks nothing", args: string[], flag: string | undefined][] = [
			["refused", "asks", [], "--no-approve"],
			["trusted", "asks", ["--approve"], "--approve"],
			["unasked", "asks nothing", [], undefined],
		];
		await Promise.all(
			cases.map(async ([name, project, args, flag]) => {
				const own = await startModelServer();
				const place = createHome(own);
				try {
					if (project === "asks") place.write(".pi/settings.json", "{}");
					mkdirSync(join(place.project, "below"));
					await delegate(place, own, {
						extension: EXTENSION,
						args: {
							tasks: [
								{ name: "here", prompt: name },
								{ name: "below", prompt: name, cwd: join(place.project, "below") },
							],
						},
						child: () => text("ok"),
						pi: { args },
					});
					const flagsOf = (label: string) =>
						metas(place)
							.find((meta) => meta.label === label)
							?.invocation.args.filter((arg) => arg.endsWith("approve"));
					assert.deepEqual(flagsOf("here"), flag === undefined ? [] : [flag], name);
					assert.deepEqual(flagsOf("below"), [], name);
				} finally {
					await own.close();
					place.dispose();
				}
			}),
		);
	});
});
