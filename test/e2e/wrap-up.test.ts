import assert from "node:assert/strict";
import { test } from "node:test";
import { startDelegation } from "../rig/delegation.ts";
import { text, toolCall } from "../rig/model-server.ts";
import { EXTENSION, messageSetup } from "./message-setup.ts";

test("A real pi is told that its time is almost up, and one that then answers is completed and says so", async (t) => {
	const setup = await messageSetup(t, { settings: { subagents: { extend_timeout_debounce: 60 } } });
	const { done } = startDelegation(setup.home, setup.server, {
		extension: EXTENSION,
		args: { tasks: [{ name: "slow", prompt: "look around", timeout: 60 }] },
		// A tenth of its time is left after 54 s: it is told after the call that runs then.
		child: ({ turn }) => (turn === 0 ? toolCall("bash", { command: "sleep 56" }) : text("as far as I got")),
		pi: { timeoutMs: 110_000 },
	});
	const { childRequests, results } = await done;
	assert.equal(childRequests.length, 2);
	const [, reminder] = childRequests[1]?.messages.filter(({ role }) => role === "user") ?? [];
	assert.match(reminder?.text ?? "", /^Your time is almost up: about 6 s are left\. Finish now with what you have/);
	assert.match(results[0]?.text ?? "", /^✓ slow: completed.*\n {2}its time was up$/m);
	assert.equal(results[0]?.isError, false);
});
