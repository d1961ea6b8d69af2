import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { agentRequest } from "../../src/plan/agent-call.ts";
import { askedSessions } from "../../src/tools/agent-sessions.ts";
import { createDelegateSetup, type DelegateSetup, task } from "../rig/delegate-setup.ts";

describe("the session id of an agent's call", () => {
	let setup: DelegateSetup;
	before(() => {
		setup = createDelegateSetup();
	});
	after(() => setup.dispose());
	const requestFor = (sessionId: string, cwd: string) => {
		const call = { agent: "scout", task: "x", model: undefined, cwd: undefined, sessionId };
		const request = agentRequest(call, cwd, undefined);
		assert.ok(request.ok);
		return request.value;
	};

	test("Is refused when it belongs to delegate_to_subagents or is a run, with the call that would be right [X38]", async () => {
		const { host, context, delegate, kept } = setup.session();
		const call = await delegate({ tasks: [task("one", { say: "done" })] });
		const delegateId = call.result.details.sessionIds[0] ?? "";
		const ask = (id: string) => askedSessions([requestFor(id, context.cwd)], { host, context });
		await assert.rejects(ask(delegateId), {
			message: `"${delegateId}" is a session of delegate_to_subagents, not of an agent. Go on with it there: {tasks: [{name, prompt, resume: "${delegateId}"}]}`,
		});
		const [run] = kept;
		assert.ok(run);
		await assert.rejects(ask(run.runId), {
			message: `"${run.runId}" is a run, not a session of an agent: a run cannot be continued. To read its answer: get_subagent_output {sessionId: "${run.runId}"}`,
		});
		host.store.put({
			...run,
			runId: "20260101-000000-00000001",
			sessionId: "mine",
			family: "agent",
			label: "scout",
		});
		await assert.rejects(ask("20260101-000000-00000001"), {
			message:
				'"20260101-000000-00000001" is a run of the agent "scout". To go on with its session: {agent: "scout", task, sessionId: "mine"}',
		});
	});

	test("Is taken when nobody knows it, or when none is given", async () => {
		const { host, context } = setup.session();
		const free = agentRequest(
			{ agent: "scout", task: "x", model: undefined, cwd: undefined, sessionId: undefined },
			context.cwd,
			undefined,
		);
		assert.ok(free.ok);
		assert.deepEqual(await askedSessions([requestFor("never-used", context.cwd), free.value], { host, context }), [
			{ kind: "new", others: [] },
			undefined,
		]);
	});
});
