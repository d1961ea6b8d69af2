import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { MOCK_API_KEY } from "../rig/home.ts";
import type { ModelRequest } from "../rig/model-server.ts";
import { until } from "../rig/until.ts";
import { background, isParent, runIdIn, setUp, status } from "./background-setup.ts";

const LATE_MODELS = fileURLToPath(new URL("../rig/fixtures/late-models.ts", import.meta.url));

const READING = ["get_subagent_output", "get_subagent_session", "list_subagent_profiles"];
const BACKGROUND = ["background_agent", "background_agent_status", "subagent_control"];

/** The models that a tool's parameter offers in a request; undefined where the tool is not there. */
function offered(request: ModelRequest | undefined, tool: string): unknown {
	type Tool = { function: { name: string; parameters: { properties: { model?: { enum?: string[] } } } } };
	const found = (request?.body.tools as Tool[] | undefined)?.find((each) => each.function.name === tool);
	return found && (found.function.parameters.properties.model?.enum ?? "no enum");
}

test("The tools come with the first models, and offer those that there are, in their order (B31–B34, X10, X11)", async (t) => {
	const setup = await setUp(t);
	const { home, server, script, person, release, ended } = setup;
	writeFileSync(join(home.agentDir, "models.json"), JSON.stringify({ providers: {} }));
	const someone = person({ args: ["-e", LATE_MODELS], env: { RIG_MODEL_URL: server.url } });
	const available = async () => {
		const { data } = (await someone.tell({ type: "get_available_models" })) as { data?: { models?: { id: string }[] } };
		return (data?.models ?? []).map(({ id }) => id).join(",");
	};
	const modelsAre = async (ids: string) => {
		await someone.tell({ type: "prompt", message: `/models-are ${ids}` });
		// pi takes a moment until its registry has them.
		await until(async () => (await available()) === ids, `the models ${ids}`);
	};
	const lastRequest = () => server.requests.filter(isParent).at(-1);

	await modelsAre("zeta,alpha");
	await someone.tell({ type: "set_model", provider: "late", modelId: "zeta" });
	await someone.ask("what have you got?");
	for (const tool of ["subagent", "background_agent"]) {
		assert.deepEqual(offered(lastRequest(), tool), ["late/zeta", "late/alpha"], tool);
	}
	assert.equal(offered(lastRequest(), "background_agent_status"), "no enum");

	await modelsAre("alpha,zeta");
	await someone.ask("the same in another order");
	assert.deepEqual(offered(lastRequest(), "subagent"), ["late/zeta", "late/alpha"], "B32: not registered again");
	await modelsAre("alpha,zeta,new-one");
	script(background("look", { model: "NEW-ONE:high" }));
	const [started] = await someone.ask("now there are three");
	assert.deepEqual(offered(lastRequest(), "background_agent"), ["late/alpha", "late/zeta", "late/new-one"]);
	const runId = runIdIn(started);
	assert.match(started?.text ?? "", /model: late\/new-one\)/);
	script(background("never", { model: "gpt-9" }));
	const [refused] = await someone.ask("a model that is none");
	assert.deepEqual([refused?.isError, /gpt-9|late\/alpha/.test(refused?.text ?? "")], [true, true], refused?.text);
	script(background("never"));
	const [gone] = await someone.ask("the preset's own model is not there");
	assert.match(
		gone?.text ?? "",
		/^Unknown model: "mock\/mock-2"\. Available models: late\/alpha, late\/zeta, late\/new-one$/,
	);

	script(status({ runId }));
	assert.match((await someone.ask("status"))[0]?.text ?? "", /late\/new-one: look/);
	release("look");
	await ended(runId);
	assert.equal(await someone.leave(), "");
});

test("Without a model the tools are not offered; with the next one, those that were active before are (X11, B34)", async (t) => {
	const { home, server, person, script } = await setUp(t);
	const file = join(home.agentDir, "models.json");
	const models = JSON.parse(readFileSync(file, "utf8"));
	// A key beside the models: pi goes on with the model that it has when the list is empty.
	writeFileSync(join(home.agentDir, "auth.json"), JSON.stringify({ mock: { type: "api_key", key: MOCK_API_KEY } }));
	const someone = person({ args: ["-e", LATE_MODELS] });
	const modelsAre = async (ids: readonly string[]) => {
		const { mock } = models.providers;
		const offering = mock.models.filter(({ id }: { id: string }) => ids.includes(id));
		writeFileSync(file, JSON.stringify({ providers: { mock: { ...mock, models: offering } } }));
		await someone.tell({ type: "prompt", message: "/read-models" });
	};
	const toolsNow = async () => {
		await someone.ask("what have you got?");
		return server.requests.filter(isParent).at(-1)?.tools.toSorted().join();
	};
	const others = ["bash", "edit", "read", "write", "delegate_to_subagents", ...READING];
	const list = (...names: string[]) => [...others, ...names].toSorted().join();
	assert.equal(await toolsNow(), list("subagent", ...BACKGROUND));
	await modelsAre([]);
	assert.equal(await toolsNow(), list());
	script({ name: "background_agent_status", args: {} });
	assert.equal((await someone.ask("call it all the same"))[0]?.isError, true);
	await modelsAre(["mock-2"]);
	assert.equal(await toolsNow(), list("subagent", ...BACKGROUND));
	assert.deepEqual(offered(server.requests.filter(isParent).at(-1), "subagent"), ["mock/mock-2"]);

	await someone.tell({ type: "prompt", message: `/only ${[...others, "write", "subagent"].join()}` });
	assert.equal(await toolsNow(), list("subagent"));
	await modelsAre([]);
	assert.equal(await toolsNow(), list());
	await someone.tell({ type: "prompt", message: `/only ${["bash", ...READING].join()}` });
	await modelsAre(["mock-1", "mock-2"]);
	assert.equal(await toolsNow(), ["bash", ...READING, "subagent"].toSorted().join());
	assert.equal(await someone.leave(), "");
});

test("Families switches tools off, and the reading tools stay with any (X11)", async (t) => {
	const expected: [string[], string[]][] = [
		[
			["delegate", "subagent", "background"],
			["delegate_to_subagents", ...READING, "subagent", ...BACKGROUND],
		],
		[["background"], [...READING, ...BACKGROUND]],
		[["subagent"], [...READING, "subagent"]],
	];
	for (const [families, tools] of expected) {
		const { server, print } = await setUp(t, { settings: { subagents: { families } } });
		const { stderr } = await print();
		assert.equal(stderr, "");
		const ours = server.requests[0]?.tools.filter((name) => !["read", "bash", "edit", "write"].includes(name));
		assert.deepEqual(ours?.sort(), tools.sort());
	}
});
