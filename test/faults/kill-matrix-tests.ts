import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Cell, playCell, SAID, type Victims, WORKS } from "./kill-matrix.ts";

/** Every work of a child with each of these victims. */
export function testKills(all: readonly Victims[]): void {
	describe("kill -9, with the real pi: nothing survives, what was said is kept, the end is told", {
		concurrency: 3,
	}, () => {
		for (const victims of all) {
			for (const work of WORKS) {
				test(`${victims.join(" and ")}, while the child is at: ${work} [${idsOf(victims)}]`, async () => {
					const cell = await playCell(victims, work);
					assert.deepEqual(cell.survivors, []);
					assert.ok(cell.said.includes(SAID), cell.said);
					checkResult(cell, victims);
					checkTold(cell, victims);
					if (victims[0] === "pi" && cell.jobs > 0)
						assert.ok(leftoversOf(cell).includes("sleep 600"), "the job is named");
				});
			}
		}
	});
}

function idsOf(victims: Victims): string {
	if (victims.length > 1) return "F06";
	return { parent: "F01, F02", supervisor: "F04", pi: "F05" }[victims[0]];
}

const leftoversOf = ({ result }: Cell) => result?.leftovers.map(({ command }) => command) ?? [];

function checkResult({ result, endedBy }: Cell, victims: Victims): void {
	const names: readonly string[] = victims;
	const failure = result?.outcome.kind === "failed" ? result.outcome.failure : undefined;
	const parentDied = { kind: "stopped", cause: { kind: "aborted", by: "parent-death" } };
	const piDied = { kind: "exit", exit: { kind: "signal", signal: "SIGKILL" }, stderr: "" };
	// A supervisor writes the result, or else whoever finds that there is none.
	const found = !names.includes("parent") || endedBy === "the next parent";
	if (names.includes("supervisor")) assert.deepEqual(failure, found ? { kind: "lost" } : undefined);
	else if (names.length === 2) assert.ok(failure?.kind === "stopped" || failure?.kind === "exit");
	else assert.deepEqual(failure, names.includes("parent") ? parentDied : piDied);
}

function checkTold({ told }: Cell, victims: Victims): void {
	const names: readonly string[] = victims;
	if (names.includes("parent")) assert.equal(told, undefined);
	else if (names.includes("supervisor")) assert.match(told ?? "", /^✗ victim: error — Sub-agent was lost: /);
	else assert.match(told ?? "", /^✗ victim: error — Sub-agent process was killed by SIGKILL \(session: \w{16}\)$/);
}
