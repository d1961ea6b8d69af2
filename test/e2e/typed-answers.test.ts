import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { RunResult } from "../../src/domain/run-result.ts";
import { text } from "../rig/model-server.ts";
import { PI_IS_1 } from "../rig/pi.ts";
import { createSetup, finalize, success } from "./agent-setup.ts";

const SCHEMA = {
	type: "object",
	required: ["files"],
	additionalProperties: false,
	properties: {
		files: { type: "array", items: { $ref: "#/$defs/file" } },
		note: { type: "string" },
	},
	$defs: {
		file: {
			type: "object",
			required: ["path", "line"],
			properties: { path: { type: "string" }, line: { type: "integer" } },
		},
	},
};
const FIELDS = ["name: finder", "description: d", `output: ${JSON.stringify(SCHEMA)}`];
const VALUE = { files: [{ path: "a.ts", line: 3 }] };
const typed = (result: unknown) => finalize({ status: "SUCCESS", result });
const answerIn = (text: string | undefined) => text?.split("\n---\n\n")[1];

describe("an agent whose definition has an output", () => {
	test("Hands over a value: the answer is its JSON, and the details have it", async (t) => {
		const { define, call, requestsOf, runs, home } = await createSetup(t);
		define("prompts/finder.md", FIELDS, "You find.");
		define("prompts/plain.md", ["name: plain", "description: d"], "You talk.");
		home.write(join(home.agentDir, "prompts/line.json"), '{"type":"string","minLength":1}');
		define("prompts/liner.md", ["name: liner", "description: d", "output: line.json"], "You say a line.");
		const [first, second, third] = await call(
			[
				{ agent: "finder", task: "find" },
				{ agent: "plain", task: "talk" },
				{ agent: "liner", task: "say" },
			],
			{ find: [typed(VALUE)], talk: [success("words")], say: [success("a line")] },
		);
		assert.equal(answerIn(first?.text), JSON.stringify(VALUE));
		assert.deepEqual((first?.details as { finalized: unknown } | undefined)?.finalized, {
			status: "SUCCESS",
			result: VALUE,
		});
		assert.equal(answerIn(second?.text), "words");
		assert.equal(answerIn(third?.text), '"a line"', "a text is JSON, too");
		const declared = (task: string) => {
			const [request] = requestsOf(task);
			const tools = request?.body.tools as { function: { name: string; parameters: Record<string, unknown> } }[];
			return tools.find(({ function: { name } }) => name === "subagent_finalize")?.function.parameters;
		};
		const { $defs, ...withoutDefs } = SCHEMA;
		const parameters = declared("find") as { properties: Record<string, object>; $defs: object } | undefined;
		assert.deepEqual(parameters?.$defs, $defs, "shared parts are where references look for them");
		assert.deepEqual(parameters?.properties.result, { description: "With SUCCESS: your whole answer", ...withoutDefs });
		assert.ok(!JSON.stringify(declared("talk")).includes("$defs"));
		const spawned = (task: string) =>
			runs()
				.get(task)
				?.spec.invocation.args.filter((each) => each === "-e").length;
		assert.deepEqual([spawned("find"), spawned("talk")], [2, 1], "nobody else loads the validator");
		const { directory } = runs().get("find") ?? {};
		const kept = JSON.parse(readFileSync(join(directory ?? "", "result.json"), "utf8")) as RunResult;
		assert.deepEqual(kept.finalized, { status: "SUCCESS", result: VALUE, typed: true });
	});

	test("Is corrected with the paths that are wrong; a value written as a text counts as the value", async (t) => {
		const { define, call, requestsOf } = await createSetup(t);
		define("prompts/finder.md", FIELDS, "You find.");
		const [result] = await call([{ agent: "finder", task: "find" }], {
			find: [
				typed({ files: [{ path: "a.ts", line: "x" }, { path: "b.ts" }], more: 1 }),
				typed(undefined),
				typed(JSON.stringify(VALUE)),
			],
		});
		assert.equal(answerIn(result?.text), JSON.stringify(VALUE));
		const [, second, third] = requestsOf("find").map(({ messages }) => messages.at(-1)?.text ?? "");
		assert.match(second ?? "", /^The result does not fit its schema:\n/);
		assert.match(second ?? "", /^- result\/files\/0\/line: must be integer$/m);
		assert.match(second ?? "", /^- result\/files\/1: must have required propert.*line/m);
		assert.match(second ?? "", /^- result.*: must not have additional properties/m);
		assert.match(third ?? "", /^SUCCESS needs a result that fits its schema$/);
	});

	test("Fails after three corrections, may still give up or ask, and is stopped by nothing else", async (t) => {
		const { define, call, requestsOf } = await createSetup(t);
		define("prompts/finder.md", FIELDS, "You find.");
		const wrong = typed({ files: "none" });
		const [never, gaveUp, asked] = await call(
			[
				{ agent: "finder", task: "never" },
				{ agent: "finder", task: "give up" },
				{ agent: "finder", task: "ask" },
			],
			{
				never: [wrong, text("Done."), wrong, wrong],
				"give up": [finalize({ status: "ERROR", error: "no files", result: { files: 7 } })],
				ask: [finalize({ status: "QUESTION", question: "Which?" })],
			},
		);
		assert.equal(never?.isError, true);
		assert.match(never?.text ?? "", /ended without a valid subagent_finalize call \(3 corrections\)/);
		assert.equal(requestsOf("never").length, 4);
		assert.equal(answerIn(gaveUp?.text), 'no files\n\n{"files":7}', "what it found nevertheless need not fit");
		assert.match(answerIn(asked?.text) ?? "", /^Which\?\n/);
	});

	test("Answers with text where it is called as a preset or a profile, and the list says for what its output counts", async (t) => {
		const { define, call, requestsOf } = await createSetup(t);
		define("prompts/finder.md", [...FIELDS, "model: mock/mock-1"], "You find.");
		const [preset, profile, list] = await call(
			[
				{ preset: "finder", task: "as preset" },
				{ tool: "delegate_to_subagents", tasks: [{ name: "p", prompt: "as profile", profile: "finder" }] },
				{ tool: "list_subagent_profiles" },
			],
			{ "as preset": [text("words")], "as profile": [text("more words")] },
		);
		assert.match(preset?.text ?? "", /words$/);
		assert.match(profile?.text ?? "", /^✓ p: completed/);
		for (const task of ["as preset", "as profile"]) {
			assert.ok(!requestsOf(task)[0]?.tools.includes("subagent_finalize"), task);
		}
		assert.match(list?.text ?? "", /finder.*as an agent it answers with JSON/s);
	});

	test("Is not started where its output is no schema", async (t) => {
		const { define, call, requestsOf } = await createSetup(t);
		define("prompts/broken.md", ["name: broken", "description: d", "output: {type: objekt}"], "You fail.");
		const [result] = await call([{ agent: "broken", task: "try" }], {});
		assert.equal(result?.isError, true);
		assert.match(
			result?.text ?? "",
			/The agent "broken" cannot be used: .*broken\.md:4: output must be a JSON Schema: type /,
		);
		assert.equal(requestsOf("try").length, 0);
	});

	test("pi 1.x gets the value as structured content", { skip: !PI_IS_1 && "pi 0.87 has none" }, async (t) => {
		const { define, start, server } = await createSetup(t);
		define("prompts/finder.md", FIELDS, "You find.");
		const { events } = await start([{ agent: "finder", task: "find" }], { find: [typed(VALUE)] }).done;
		assert.deepEqual(server.scriptErrors, []);
		const ends = events.filter(({ type }) => type === "tool_execution_end") as unknown as {
			result: { structuredContent?: { tasks: readonly { result?: unknown; text: string }[] } };
		}[];
		const [task] = ends[0]?.result.structuredContent?.tasks ?? [];
		assert.deepEqual(task?.result, VALUE);
		assert.equal(task?.text, JSON.stringify(VALUE));
	});
});
