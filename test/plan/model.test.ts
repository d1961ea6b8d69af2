import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type AvailableModel, type ModelRequest, matchModel, planModel } from "../../src/plan/model.ts";
import { modelParameter, modelSetKey, spelledAsInEnum } from "../../src/plan/model-parameter.ts";

const model = (name: string, label = name): AvailableModel => {
	const [provider = "", ...id] = name.split("/");
	return { provider, id: id.join("/"), name: label };
};
const MODELS = [
	model("anthropic/claude-sonnet-4-5", "Claude Sonnet 4.5"),
	model("anthropic/claude-haiku-4-5", "Claude Haiku 4.5"),
	model("openai/gpt-5", "GPT-5"),
	model("openrouter/openai/gpt-5", "GPT-5 by way of OpenRouter"),
	model("ollama/qwen:7b", "Qwen"),
	model("odd/fast:high", "Odd"),
];

const match = (asked: string, provider?: string, models = MODELS) => {
	const found = matchModel(asked, provider, models);
	return found.ok ? `${found.value.model.provider}/${found.value.model.id} ${found.value.level ?? "-"}` : found.error;
};

describe("X10: a name stands for one model", () => {
	test("Exactly, without case, as a bare id, as a part of an id or a name", () => {
		assert.equal(match("openai/gpt-5"), "openai/gpt-5 -");
		assert.equal(match("OpenAI/GPT-5"), "openai/gpt-5 -");
		assert.equal(match("claude-haiku-4-5"), "anthropic/claude-haiku-4-5 -");
		assert.equal(match("Claude-Haiku-4-5"), "anthropic/claude-haiku-4-5 -");
		assert.equal(match("haiku"), "anthropic/claude-haiku-4-5 -");
		assert.equal(match("sonnet 4.5"), "anthropic/claude-sonnet-4-5 -");
	});

	test("A bare id wins over ids that only contain it", () => {
		assert.equal(match("gpt-5"), "openai/gpt-5 -");
	});

	test(":level is split off first, unless the id itself ends so", () => {
		assert.equal(match("haiku:high"), "anthropic/claude-haiku-4-5 high");
		assert.equal(match("openai/gpt-5:MAX"), "openai/gpt-5 max");
		assert.equal(match("ollama/qwen:7b"), "ollama/qwen:7b -");
		assert.equal(match("qwen:7b:low"), "ollama/qwen:7b low");
		assert.equal(match("odd/fast:high"), "odd/fast:high -");
	});

	test("A provider narrows the choice", () => {
		assert.equal(match("gpt-5", "OpenRouter"), "openrouter/openai/gpt-5 -");
		assert.equal(
			match("gpt-5", "nobody"),
			'Unknown provider: "nobody". Available providers: anthropic, openai, openrouter, ollama, odd',
		);
	});

	test("What fits several models at the first step that fits at all is an error that lists them", () => {
		assert.equal(
			match("claude"),
			'Ambiguous model: "claude" fits anthropic/claude-sonnet-4-5, anthropic/claude-haiku-4-5. Name one of them.',
		);
		assert.equal(match("a/x", undefined, [model("a/x"), model("a/x")]), "a/x -");
	});

	test("What fits none is an error that lists what there is, or what looks like it", () => {
		assert.equal(
			match("gpt-6"),
			`Unknown model: "gpt-6". Available models: ${MODELS.map(({ provider, id }) => `${provider}/${id}`).join(", ")}`,
		);
		const many = [...MODELS, ...Array.from({ length: 1_000 }, (_, at) => model(`filler/zzz-${at}`))];
		const error = match("claude-sonet-4-5", undefined, many);
		assert.match(error, /^Unknown model: "claude-sonet-4-5"\. Similar models: anthropic\/claude-sonnet-4-5, /);
		assert.equal(error.split(", ").length, 8);
		assert.equal(match("", undefined, []), 'Unknown model: "". Available models: (none)');
	});
});

describe("X10 B27: which model a run gets", () => {
	const plan = (request: Partial<ModelRequest>, models: () => readonly AvailableModel[] = () => MODELS) =>
		planModel(
			{ asked: undefined, choice: undefined, inherited: undefined, session: undefined, mustBeNamed: false, ...request },
			models,
		);
	const unasked = () => assert.fail("nobody named a model");
	const parent = { provider: "openai", id: "gpt-5", thinking: "low" };
	const choice = { rule: "own", provider: undefined, name: undefined, thinking: undefined } as const;

	test("A profile's own model goes before the parent's, with its own level or none", () => {
		assert.deepEqual(plan({ choice: { ...choice, name: "haiku" }, inherited: parent }), {
			ok: true,
			value: {
				model: { provider: "anthropic", id: "claude-haiku-4-5", thinking: undefined },
				thinking: undefined,
				requested: "haiku",
			},
		});
		const explicit = plan({ choice: { ...choice, name: "haiku:low", thinking: "max" } });
		assert.equal(explicit.ok && explicit.value.thinking, "max");
	});

	test("Who names none gets the parent's, together with its thinking level, and no list of models is asked for", () => {
		assert.deepEqual(plan({ inherited: parent }, unasked), {
			ok: true,
			value: { model: parent, thinking: "low", requested: undefined },
		});
		const own = plan({ inherited: parent, choice: { ...choice, thinking: "high" } }, unasked);
		assert.deepEqual(own.ok && own.value.model, { ...parent, thinking: "high" });
		const none = plan({ choice: { ...choice, thinking: "high" } }, unasked);
		assert.deepEqual(none.ok && none.value, { model: undefined, thinking: "high", requested: undefined });
	});

	test("The call's model goes before the preset's; asked and found are both kept (B27, B28, B30)", () => {
		const called = plan({
			asked: "HAIKU:high",
			choice: { ...choice, name: "gpt-5", thinking: "low" },
			mustBeNamed: true,
		});
		assert.deepEqual(called.ok && called.value, {
			model: { provider: "anthropic", id: "claude-haiku-4-5", thinking: "high" },
			thinking: "high",
			requested: "HAIKU:high",
		});
	});

	test("A preset without a model is an error, and so is one whose model is not there (B29)", () => {
		const unnamed = plan({ inherited: parent, mustBeNamed: true });
		assert.match(
			unnamed.ok ? "" : unnamed.error,
			/^No model is named, in the call or in the preset\. Available models: /,
		);
		assert.equal(plan({ choice: { ...choice, name: "gone" }, inherited: parent }).ok, false);
	});

	test("A provider alone is enough where it says which model", () => {
		const ofParent = plan({ choice: { ...choice, provider: "openai" }, inherited: parent });
		assert.deepEqual(ofParent.ok && ofParent.value.model, parent);
		const only = plan({ choice: { ...choice, provider: "ollama" }, inherited: parent });
		assert.deepEqual(only.ok && only.value.model, { provider: "ollama", id: "qwen:7b", thinking: undefined });
		const several = plan({ choice: { ...choice, provider: "anthropic" }, inherited: parent });
		assert.match(several.ok ? "" : several.error, /^The provider "anthropic" has several models: name one\. Available/);
	});
});

describe("X10 B31 B32: the model parameter", () => {
	test("An enum in the models' own order while there are at most 20, a string beyond", () => {
		const twenty = Array.from({ length: 20 }, (_, at) => model(`p/m${19 - at}`));
		const frozen = Object.freeze([...twenty]);
		assert.deepEqual(modelParameter(frozen), { kind: "enum", names: frozen.map(({ id }) => `p/${id}`) });
		assert.deepEqual(modelParameter([...twenty, model("p/one-more")]), { kind: "string" });
		assert.deepEqual(modelParameter([...twenty, model("p/m0")]).kind, "enum");
	});

	test("Sets that differ in their order alone have the same key, and are not sorted themselves", () => {
		const frozen = Object.freeze([model("b/x"), model("a/y")]);
		assert.equal(modelSetKey(frozen), modelSetKey([model("a/Y"), model("b/x")]));
		assert.notEqual(modelSetKey(frozen), modelSetKey([model("b/x")]));
		assert.deepEqual(
			frozen.map(({ provider }) => provider),
			["b", "a"],
		);
	});

	test("Another spelling becomes the enum's own, what is unclear stays", () => {
		assert.deepEqual(spelledAsInEnum("HAIKU:high", MODELS), { model: "anthropic/claude-haiku-4-5", level: "high" });
		assert.deepEqual(spelledAsInEnum("claude", MODELS), undefined);
	});
});
