import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { REMINDER } from "../../src/child/corrections.ts";
import type { Finalized } from "../../src/domain/finalized.ts";
import { type SubagentDetails, subagentTool } from "../../src/tools/subagent.ts";
import type { SubagentParameters } from "../../src/tools/subagent-schema.ts";
import { createSetup, type Setup } from "../rig/fake-run.ts";
import { type FakeStep, promptOf } from "../rig/fake-steps.ts";
import { makeAgentDirectory } from "../rig/no-receipts.ts";
import { createRecordedHost } from "../rig/recorded-host.ts";

const MODELS = [{ provider: "mock", id: "mock-1", name: "Mock" }];
const GO_ON = "(call the agent again with it to go on)";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("subagent with an agent", { concurrency: 3 }, () => {
	let setup: Setup;
	const environment = { PI_CODING_AGENT_DIR: process.env.PI_CODING_AGENT_DIR, HOME: process.env.HOME };
	before(() => {
		setup = createSetup();
		const agentDirectory = makeAgentDirectory(join(setup.temporary, "agent"));
		process.env.PI_CODING_AGENT_DIR = agentDirectory;
		process.env.HOME = setup.temporary;
		const define = (path: string, text: string) => {
			mkdirSync(dirname(join(agentDirectory, path)), { recursive: true });
			writeFileSync(join(agentDirectory, path), text);
		};
		define("prompts/scout.md", "---\nname: scout\ndescription: finds\n---\nBODY");
		define("subagents/brief.md", "---\nname: brief\ndescription: short\nmodel: mock-1\n---\nBODY");
	});
	after(() => {
		for (const [name, value] of Object.entries(environment)) {
			if (value === undefined) delete process.env[name];
			else process.env[name] = value;
		}
		setup.dispose();
	});

	let projects = 0;
	/** A session in a project of its own. */
	const session = () => {
		const cwd = join(setup.project, `p${projects++}`);
		mkdirSync(cwd);
		const { host, context } = createRecordedHost({ cwd });
		const modelRegistry = { getAll: () => MODELS, getAvailable: () => MODELS };
		const withModels = { ...context, modelRegistry } as unknown as ExtensionContext;
		let calls = 0;
		return {
			cwd,
			host,
			async call(parameters: SubagentParameters, signal?: AbortSignal, onUpdate?: (details: SubagentDetails) => void) {
				const id = `call-${calls++}`;
				const tool = subagentTool(host, MODELS);
				const result = await tool.execute(id, parameters, signal, (update) => onUpdate?.(update.details), withModels);
				const [content] = result.content;
				assert.ok(result.content.length === 1 && content?.type === "text");
				return { text: content.text, details: result.details, usage: result.usage, failed: host.failedCalls.has(id) };
			},
		};
	};
	const finalize = (details: Finalized): FakeStep => ({
		tool: "subagent_finalize",
		args: details,
		details,
		result: "Done.",
	});
	const task = (...steps: FakeStep[]) => promptOf(...steps);
	/** Says the same again after each of three reminders. */
	const reminded = (words: string): FakeStep[] => [
		...[1, 2, 3].flatMap((): FakeStep[] => [{ say: words }, { user: REMINDER }]),
		{ say: words },
	];
	const refused: FakeStep = { tool: "subagent_finalize", args: {}, result: "no", isError: true };
	const answering = (result: string) => task({ say: "free text" }, finalize({ status: "SUCCESS", result }));

	test("The header, the answer and nothing else; the details (C9, C10, C21)", async () => {
		const { call } = session();
		const { text, details, usage, failed } = await call({ agent: "scout", task: answering("# Found\n\nit") });
		const { sessionId = "", finalized, windows, sessionIds, globalStatus } = details;
		assert.match(sessionId, UUID);
		assert.equal(text, `**Status:** SUCCESS\n**Session ID:** \`${sessionId}\`\n\n---\n\n# Found\n\nit`);
		assert.deepEqual(finalized, { status: "SUCCESS", result: "# Found\n\nit" });
		assert.deepEqual([sessionIds, globalStatus, failed], [[sessionId], "done", false]);
		assert.deepEqual(usage, windows[0]?.usage);
		const { name, status, lines = [], errorMessage } = windows[0] ?? {};
		assert.deepEqual([name, status, errorMessage], ["scout", "completed", undefined]);
		assert.deepEqual(
			lines.map((line) => line.text),
			["free text", "# Found", "it"],
			"the window shows the answer",
		);
	});

	test("ERROR is an answer, with the reason and what was found (C12, X13)", async () => {
		const { call } = session();
		const error: Finalized = { status: "ERROR", error: "no way", result: "a part" };
		const { text, details, failed } = await call({ agent: "scout", task: task(finalize(error)), sessionId: "id-1" });
		assert.equal(text, "**Status:** ERROR\n**Session ID:** `id-1`\n**Session:** new\n\n---\n\nno way\n\na part");
		assert.deepEqual([details.sessionId, details.finalized, failed], ["id-1", error, false]);
		assert.deepEqual(
			details.windows[0]?.lines.map((line) => line.text),
			["ERROR: no way", "a part"],
		);
		const bare = await call({
			agent: "scout",
			task: task(finalize({ ...error, result: undefined })),
			sessionId: "id-1",
		});
		assert.equal(bare.text, "**Status:** ERROR\n**Session ID:** `id-1`\n**Session:** new\n\n---\n\nno way");
	});

	test("Without an answer the call fails, says why, names the session and keeps what was written (C21, C23, X13)", async () => {
		const { call } = session();
		const cases: [FakeStep[], string][] = [
			[reminded("just text"), "Sub-agent ended without a valid subagent_finalize call (3 corrections)"],
			[[{ say: "just text" }, { say: "", stopReason: "error", errorMessage: "529" }], "529"],
			[[{ say: "just text" }, { stderr: "why\n" }, { exit: 3 }], "Sub-agent process exited with code 3: why"],
			[[{ say: "just text" }, { signal: "SIGKILL" }], "Sub-agent process was killed by SIGKILL"],
			[
				[{ say: "just text" }, { repeat: 3, steps: [refused] }],
				"Sub-agent ended without a valid subagent_finalize call (3 corrections)",
			],
		];
		for (const [steps, error] of cases) {
			const { text, details, failed } = await call({ agent: "scout", task: task(...steps), sessionId: "kept" });
			assert.equal(
				text,
				`Error: ${error}\n**Session ID:** \`kept\` ${GO_ON}\n**Session:** new\n\nWhat it had written:\n\njust text`,
			);
			assert.deepEqual([details.sessionId, details.finalized, failed], ["kept", undefined, true]);
		}
	});

	test("What was handed over counts, whatever happens to pi afterwards (X13)", async () => {
		const { call } = session();
		const first = finalize({ status: "SUCCESS", result: "first" });
		for (const steps of [
			[first, { exit: 3 }],
			[first, { say: "", stopReason: "error" as const, errorMessage: "529" }],
			[first, finalize({ status: "SUCCESS", result: "second" })],
		]) {
			const { text, failed } = await call({ agent: "scout", task: task(...steps) });
			assert.match(text, /^\*\*Status:\*\* SUCCESS\n.*\n\n---\n\nfirst$/);
			assert.equal(failed, false);
		}
	});

	test("What cannot begin says why, and offers no session to go on with (C13, X1, X24)", async () => {
		const { call, cwd } = session();
		const cases: [SubagentParameters, string][] = [
			[{ agent: "nobody", task: "x" }, 'Unknown agent: "nobody". Available agents: brief, scout'],
			[{ agent: "../scout", task: "x" }, 'Unknown agent: "../scout". Available agents: scout, brief'],
			[{ agent: "scout", task: "x", cwd: "relative" }, "cwd must be an absolute path"],
			[{ agent: "scout", task: "x", cwd: `${cwd}/../x` }, "cwd must not contain '..' path segments"],
			[{ agent: "scout", task: "x", cwd: `${cwd}/no` }, `cwd does not exist: ${cwd}/no`],
		];
		for (const [parameters, error] of cases) {
			const { text, failed } = await call(parameters);
			assert.deepEqual([text, failed], [`Error: ${error}`, true]);
		}
	});

	test("A call that is none of the forms is refused, with the forms, and nothing is started (X1, B5)", async () => {
		const { call, cwd } = session();
		const cases: [Record<string, unknown>, RegExp][] = [
			[{ agent: "scout" }, /^subagent needs a task\./],
			[{ agent: "scout", task: " \n" }, /^subagent needs a task\./],
			[{ task: "x" }, /^subagent needs the name of a preset or of an agent\./],
			[{ agent: "scout", preset: "brief", task: "x" }, /^subagent takes a preset or an agent, not both\./],
			[{ preset: "brief", task: "x", sessionId: "id" }, /^sessionId goes with an agent\./],
			[
				{ agent: "scout", task: "x", sessionId: "../id" },
				/^"\.\.\/id" is not a session id: letters, digits and hyphens, at most 128\./,
			],
			[{ agent: "scout", task: "x", chain: [] }, /^subagent does not take chain\./],
			[{ agent: "scout", tasks: [{ agent: "scout", task: "x" }] }, /^With tasks, agent must stand in each of them\./],
			[
				{ sessionId: "id", tasks: [{ agent: "scout", task: "x" }] },
				/^With tasks, sessionId must stand in each of them\./,
			],
			[
				{
					tasks: [
						{ agent: "scout", task: "x" },
						{ agent: "scout", preset: "brief", task: "x" },
					],
				},
				/not both\./,
			],
			[{ tasks: [{ agent: "scout", task: "x", sessionId: "" }] }, /^"" is not a session id/],
		];
		for (const [parameters, error] of cases) {
			await assert.rejects(call(parameters as SubagentParameters), ({ message }: Error) => {
				assert.match(message, error);
				assert.match(
					message,
					/Valid forms: \{preset, task, model\?, cwd\?\}, \{agent, task, sessionId\?, model\?, cwd\?\} or/,
				);
				return true;
			});
		}
		assert.ok(!existsSync(join(cwd, ".pi")));
	});

	test("Presets and agents side by side, each in its own words (X1, X2, X16)", async () => {
		const { call } = session();
		const { text, details, failed } = await call({
			tasks: [
				{ preset: "brief", task: task({ say: "short" }) },
				{ agent: "scout", task: answering("long"), sessionId: "id-2" },
				{
					agent: "scout",
					task: task(finalize({ status: "ERROR", error: "no", result: undefined })),
					sessionId: "id-3",
				},
				{ agent: "scout", task: task(...reminded("x")), sessionId: "id-4" },
				{ agent: "brief", task: answering("a preset's definition"), sessionId: "id-5" },
			],
		});
		const header = (status: string, id: string) =>
			`**Status:** ${status}\n**Session ID:** \`${id}\`\n**Session:** new\n\n---\n\n`;
		assert.equal(
			text,
			[
				"[1/5] brief: completed\nshort",
				`[2/5] scout: SUCCESS\n${header("SUCCESS", "id-2")}long`,
				`[3/5] scout: ERROR\n${header("ERROR", "id-3")}no`,
				`[4/5] scout: FAILED\nError: Sub-agent ended without a valid subagent_finalize call (3 corrections)\n**Session ID:** \`id-4\` ${GO_ON}\n**Session:** new\n\nWhat it had written:\n\nx`,
				`[5/5] brief: SUCCESS\n${header("SUCCESS", "id-5")}a preset's definition`,
			].join("\n\n"),
		);
		assert.deepEqual(details.answers, [
			{},
			{ sessionId: "id-2", finalized: { status: "SUCCESS", result: "long" } },
			{ sessionId: "id-3", finalized: { status: "ERROR", error: "no" } },
			{ sessionId: "id-4" },
			{ sessionId: "id-5", finalized: { status: "SUCCESS", result: "a preset's definition" } },
		]);
		assert.equal(failed, false);
	});

	test("One session twice in one call: one of them runs, the other is told which (C17, X23)", async () => {
		const { call, host } = session();
		const one = {
			agent: "scout",
			task: task({ sleep: 1_500 }, finalize({ status: "SUCCESS", result: "mine" })),
			sessionId: "id-6",
		};
		const { details } = await call({ tasks: [one, one] });
		const [winner, loser] = details.windows.toSorted((a, b) => (a.status < b.status ? -1 : 1));
		assert.deepEqual([winner?.status, loser?.status], ["completed", "error"]);
		const runs = host.store.find("id-6");
		const completed = runs.find(({ progress }) => progress.kind === "ended" && progress.outcome.kind === "completed");
		assert.equal(loser?.errorMessage, `The session is in use by run ${completed?.runId}`);
	});

	test("An abort ends the child, says so and names the session; meanwhile the window shows what it does (C29)", async () => {
		const { call } = session();
		const abort = new AbortController();
		const seen: SubagentDetails[] = [];
		const { text, failed } = await call(
			{
				agent: "scout",
				task: task({ tool: "ls", args: { path: "src" }, result: "a" }, { delta: "I am at" }, { hang: true }),
				sessionId: "id-7",
			},
			abort.signal,
			(details) => {
				seen.push(details);
				if (details.windows[0]?.lines.some((line) => line.text === "I am at")) abort.abort();
			},
		);
		assert.equal(
			text,
			`Error: Sub-agent was aborted\n**Session ID:** \`id-7\` ${GO_ON}\n**Session:** new\n\nWhat it had written:\n\nI am at`,
		);
		assert.equal(failed, true);
		assert.deepEqual(new Set(seen.flatMap(({ sessionIds }) => sessionIds)), new Set(["id-7"]));
		const [window] =
			seen.find(({ windows }) => windows[0]?.lines.some((line) => line.text === "I am at"))?.windows ?? [];
		assert.deepEqual([window?.name, window?.status, window?.timeout], ["scout", "running", 0]);
	});
});
