import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { text, toolCall, toolCalls } from "../rig/model-server.ts";
import { until } from "../rig/until.ts";
import { isParent, MESSAGE, RUN, setUp } from "./background-setup.ts";

describe("kill -9 of the parent while a task moves to the background", { concurrency: 1 }, () => {
	for (const [when, seen] of [
		["as soon as its session has an entry of it", (entries: number, _said: string[]) => entries > 0],
		[
			"once it has moved",
			(_entries: number, said: string[]) => said.some((text) => text.includes("goes on in the background")),
		],
	] as const) {
		test(`${when}: the next start knows the run and tells its end once`, async (t) => {
			const { server, person, home, entries, runs, directoryOf, ended } = await setUp(t);
			server.use(({ turn, ...request }) => {
				if (isParent({ turn, ...request })) {
					const tasks = [{ name: "mover", prompt: "look around" }];
					return turn === 0
						? toolCalls([{ name: "delegate_to_subagents", args: { tasks } }])
						: text("the parent is done");
				}
				return turn === 0
					? toolCall("bash", { command: "until [ -e go ]; do sleep 0.1; done" })
					: text("looked around");
			});
			const first = person();
			await first.tell({ type: "prompt", message: "delegate" });
			const trail = () => runs().map((run) => join(directoryOf(run), "events.jsonl"));
			await until(
				() => trail().some((path) => existsSync(path) && readFileSync(path, "utf8").includes('"tool_execution_start"')),
				"its tool",
			);
			first.pi.send({ type: "prompt", message: "/subagents background mover", id: "move" });
			await until(() => seen(entries(RUN).length, first.shown("notify")), when);
			first.pi.kill("SIGKILL");
			await first.pi.done;
			const [runId = ""] = runs();
			assert.deepEqual(
				entries(RUN).map((entry) => entry.runId),
				[runId],
			);
			home.write("go", "");
			await ended(runId);
			for (let starts = 0; starts < 2; starts++) {
				const later = person();
				await until(() => entries(MESSAGE).length > 0, "its end to be told");
				await later.leave();
			}
			assert.deepEqual(
				entries(MESSAGE).map((entry) => entry.runId),
				[runId],
			);
			if (when === "once it has moved") assert.equal(entries(MESSAGE)[0]?.status, "completed");
		});
	}
});
