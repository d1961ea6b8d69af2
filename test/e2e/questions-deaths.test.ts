import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runPi } from "../rig/pi.ts";
import { until } from "../rig/until.ts";
import { client, delegate, EXTENSION, questionSetup } from "./questions-setup.ts";

const ATTACK = fileURLToPath(new URL("../rig/fixtures/answer-for-person.mjs", import.meta.url));
const WAIT_MS = 60_000;

describe("questions whose person is gone", { concurrency: 2 }, () => {
	test("A parent that is killed with a question open: the background run is denied and goes on, and after a restart nobody is asked", async (t) => {
		const task = "echo one\necho two";
		const restarted = Promise.withResolvers<void>();
		const setup = await questionSetup(
			t,
			[{ name: "background_agent", args: { preset: "scout", task } }],
			{},
			(command) => (command === "echo two" ? restarted.promise : undefined),
		);
		const session = ["--session", join(setup.home.root, "session.jsonl")];
		const first = client(setup.home, { args: session });
		await first.dialog(0);
		await first.settled();
		first.pi.kill("SIGKILL");
		await first.pi.done;
		await until(
			() => /the gate heard "denied"/.test(setup.heard(task) ?? ""),
			"the first command to be denied",
			WAIT_MS,
		);
		assert.match(setup.runs()[0]?.transcript ?? "", /\[denied: nobody is there\]/);

		const second = client(setup.home, { args: session, prompt: "what runs?" });
		await second.settled();
		restarted.resolve();
		await until(() => /nobody is there$/m.test(setup.heard(task) ?? ""), "the second command to be refused", WAIT_MS);
		assert.deepEqual(second.dialogs(), []);
		await until(() => existsSync(join(setup.runs()[0]?.directory ?? "", "result.json")), "its end", WAIT_MS);
		await second.leave();
	});

	test("A parent that is killed with a question of a foreground run open: the run ends", async (t) => {
		const setup = await questionSetup(t, [delegate(["builder", "echo one"])]);
		const { pi, dialog } = client(setup.home);
		await dialog(0);
		pi.kill("SIGKILL");
		await pi.done;
		const result = () => join(setup.runs()[0]?.directory ?? "", "result.json");
		await until(() => existsSync(result()), "the end of the run", WAIT_MS);
		const { outcome } = JSON.parse(readFileSync(result(), "utf8"));
		assert.deepEqual(outcome.failure, { kind: "stopped", cause: { kind: "aborted", by: "parent-death" } });
	});

	test("The bash of a child cannot answer for the person, attend, or let its run go (S29)", async (t) => {
		const log = "told.log";
		const attack = (runs: string, file: string) =>
			`${process.execPath} ${ATTACK} ${runs} ${file} > /dev/null 2>&1 & echo begun`;
		const place = { runs: "$PI_CODING_AGENT_DIR/subagents/runs", log: `$HOME/${log}` };
		const task = `${attack(place.runs, place.log)}\necho two`;
		const setup = await questionSetup(t, [delegate(["builder", task])]);
		const { dialog, respond, settled, leave } = client(setup.home);
		respond(await dialog(0), { confirmed: true });
		const second = await dialog(1);
		const told = () => {
			const file = join(setup.home.root, log);
			return existsSync(file)
				? readFileSync(file, "utf8")
						.split("\n")
						.filter((line) => line.includes('"type"'))
				: [];
		};
		await until(
			() => told().filter((line) => line.includes('"refused"')).length === 12,
			"all of it to be refused",
			WAIT_MS,
		);
		assert.ok(!told().some((line) => line.includes('"question"')), "it is not told what is asked");
		assert.ok(!(setup.heard(task) ?? "").includes("two"));
		respond(second, { confirmed: false });
		await settled();
		assert.match(setup.heard(task) ?? "", /the gate heard "denied"/);
		await leave();
	});

	test("Stopping a run closes its question: the dialog is withdrawn, and a late answer changes nothing", async (t) => {
		const setup = await questionSetup(t, [delegate(["builder", "echo one"])]);
		const { pi, dialog, respond, leave } = client(setup.home);
		const open = await dialog(0);
		pi.send({ type: "abort" });
		await until(
			() => (setup.runs()[0]?.transcript ?? "").includes("[question withdrawn]"),
			"the question to close",
			WAIT_MS,
		);
		respond(open, { confirmed: true });
		await until(() => existsSync(join(setup.runs()[0]?.directory ?? "", "result.json")), "the end of the run", WAIT_MS);
		assert.doesNotMatch(setup.runs()[0]?.transcript ?? "", /answered by you/);
		await leave();
	});
});

test("In --mode json with background agents gates deny at once, and pi does not wait for answers", async (t) => {
	const setup = await questionSetup(t, [{ name: "background_agent", args: { preset: "scout", task: "echo one" } }]);
	const end = await runPi(setup.home, { prompt: "please delegate", extension: EXTENSION, timeoutMs: WAIT_MS }).done;
	assert.equal(end.code, 0);
	assert.match(setup.heard("echo one") ?? "", /the gate is closed: nobody is there/);
});
