import assert from "node:assert/strict";
import { once } from "node:events";
import { appendFileSync, mkdirSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { encodeOwn } from "../../src/domain/decode.ts";
import { createLineSplitter } from "../../src/domain/lines.ts";
import { createRunStore } from "../../src/records/run-store.ts";
import { createSteer, STRANGER, sendMessage, stopRun } from "../../src/run/act-on-run.ts";
import { createFleet, type FleetHost } from "../../src/session/fleet.ts";
import { createLiveRuns } from "../../src/session/live-runs.ts";
import { createSetup, type Setup } from "../rig/fake-run.ts";
import { until } from "../rig/until.ts";

describe("a run of an older version", () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	/** What is left of an old supervisor: it hangs up on what it does not know, and takes every client for its parent. */
	async function oldSupervisor(t: TestContext, protocol?: number) {
		const { spec, directory } = setup.prepare("look around");
		const heard: string[] = [];
		const clients = new Set<Socket>();
		let stopped = false;
		mkdirSync(dirname(spec.socket), { recursive: true, mode: 0o700 });
		const server = createServer((client) => {
			clients.add(client);
			let owns = false;
			const lines = createLineSplitter((line) => {
				const { type } = JSON.parse(line.toString("utf8")) as { type: string };
				heard.push(type);
				if (!["hold", "start", "stop"].includes(type)) return void client.destroy();
				owns = true;
				stopped ||= type === "stop";
			});
			client.on("data", (chunk) => lines.write(chunk)).on("error", () => {});
			client.on("close", () => {
				clients.delete(client);
				stopped ||= owns;
			});
		});
		server.listen(spec.socket);
		await once(server, "listening");
		t.after(() => {
			for (const client of clients) client.destroy();
			server.close();
		});
		const tell = (event: Parameters<typeof encodeOwn>[0]) =>
			appendFileSync(join(directory, "events.jsonl"), encodeOwn(event));
		tell({ type: "started", at: 1, supervisorPid: 2 ** 22, pid: 2 ** 22, ...(protocol !== undefined && { protocol }) });
		tell({ type: "delta", text: "words of an older time" });
		return { run: { runId: spec.runId, directory, socket: spec.socket }, heard, stopped: () => stopped };
	}

	for (const protocol of [undefined, 1]) {
		test(`Takes no message and is not even asked, because it would stop (protocol ${protocol})`, async (t) => {
			const { run, heard, stopped } = await oldSupervisor(t, protocol);
			const sent = await sendMessage(run, createSteer("hello", "turn-end"), STRANGER);
			assert.match(sent.ok ? "" : sent.error, /older version of this package: it can be watched and stopped only$/);
			assert.deepEqual([heard, stopped()], [[], false]);
			assert.ok((await stopRun(run, 60_000)).ok);
			await until(() => stopped(), "the stop");
			assert.deepEqual(heard, ["stop"]);
		});
	}

	test("Is watched like any other", async (t) => {
		const { run, heard, stopped } = await oldSupervisor(t);
		const host = {
			...{ store: createRunStore(), live: createLiveRuns(), background: undefined, contextWindow: () => undefined },
			places: () => ({ cwd: setup.project, agentDirectory: join(setup.temporary, "nowhere") }),
		} as unknown as FleetHost;
		const fleet = createFleet(host);
		await fleet.look("project");
		const find = () => fleet.runs("project").find(({ runId }) => runId === run.runId);
		const found = find();
		assert.ok(found);
		fleet.watch(found);
		await until(() => find()?.state?.partial === "words of an older time", "its words");
		fleet.close();
		assert.deepEqual([heard, stopped()], [[], false]);
	});
});
