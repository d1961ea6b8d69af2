import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { measureRequest, type RequestOptions } from "../rig/request-size.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const extension = join(ROOT, "index.js");

/** What a request may grow by at most. */
const LIMITS = [
	{ families: ["delegate", "subagent", "background"], limit: 4_000 },
	{ families: ["delegate"], limit: 2_000 },
	{ families: ["subagent"], limit: 1_650 },
	{ families: ["background"], limit: 1_950 },
	{ families: [], limit: 0 },
];

describe("issue 9.3: what the tools cost in every request", { concurrency: 1 }, () => {
	let bare: number;
	const added = async (families: readonly string[], options: RequestOptions = {}) =>
		(await measureRequest({ extension, settings: { subagents: { families } }, ...options })) - bare;
	before(async () => {
		bare = await measureRequest();
	});

	for (const { families, limit } of LIMITS) {
		const named = families.join(", ") || "no family";
		test(`${named}: at most ${limit} characters, and no more than the documentation says`, async () => {
			const truth = await added(families);
			assert.ok(truth <= limit, `${truth} characters`);
			assert.ok(truth >= limit * 0.85, `${truth} characters: is everything there, or is the limit too wide?`);
			const told = documented(families);
			assert.ok(told >= truth && told <= truth * 1.1, `the documentation says ${told}, it is ${truth}`);
		});
	}

	test("What a trusted project switches off costs nothing, though the person has it (X11, X19)", async () => {
		const person = LIMITS[0]?.families ?? [];
		const inProject = (families: readonly string[]): RequestOptions => ({
			files: () => ({ ".pi/settings.json": JSON.stringify({ subagents: { families } }) }),
			pi: { args: ["--approve"] },
		});
		assert.equal(await added(person, inProject([])), 0);
		assert.equal(await added(person, inProject(["background"])), await added(["background"]));
	});

	test("No text grows with the number of definitions", async () => {
		const all = LIMITS[0]?.families ?? [];
		const files = (home: { agentDir: string }) =>
			Object.fromEntries(
				Array.from({ length: 40 }, (_, at) => [
					join(home.agentDir, ["agent-profiles", "subagents", "prompts"][at % 3] ?? "", `d${at}.md`),
					`---\nname: definition-${at}\ndescription: Does the work number ${at}\n---\nYou are number ${at}.\n`,
				]),
			);
		assert.equal(await added(all, { files }), await added(all));
	});
});

/** The figure in the table of docs/settings.md whose first cell names these families. */
function documented(families: readonly string[]): number {
	const cell = `\`${JSON.stringify(families).replaceAll(",", ", ")}\``;
	const row = readFileSync(join(ROOT, "docs/settings.md"), "utf8")
		.split("\n")
		.find((line) => line.startsWith(`| ${cell}`));
	const figure = row?.split("|").at(-2)?.trim().replace(",", "");
	assert.match(figure ?? "", /^\d+$/, `docs/settings.md has no row for ${cell}`);
	return Number(figure);
}
