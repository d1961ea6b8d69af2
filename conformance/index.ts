import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { printTable } from "../bench/figures.ts";
import { messageOf } from "../src/domain/result.ts";
import { brief, type Check, type Finding, fail } from "./check.ts";
import { ANSWERS, costOf, HONESTY } from "./honesty.ts";
import { LEAKS } from "./leaks.ts";
import { KILLED, ORPHANS } from "./orphans.ts";
import { type Shape, shapeFrom, shapeOf } from "./shape.ts";
import { firstRequest } from "./stage.ts";

const USAGE = `npm run conformance -- <extension> [--call '{"tool": "name", "arguments": {"prompt": "{task}"}}'] [--only <words>]`;

/**
 * Puts any extension that delegates to the test, from outside: the real pi, a scripted model on loopback, a throw-away home.
 * Ends with 1 where a check failed, with 2 where none could be made.
 */
process.exitCode = await main();

async function main(): Promise<number> {
	const { values, positionals } = parseArgs({
		options: { call: { type: "string" }, only: { type: "string" } },
		allowPositionals: true,
	});
	const [path] = positionals;
	if (path === undefined) return stop(USAGE);
	const extension = entryOf(resolve(process.env.INIT_CWD ?? process.cwd(), path));
	if (extension === undefined) return stop(`There is no extension at ${path}`);
	const without = await firstRequest(undefined);
	const offered = await firstRequest(extension);
	if (offered.tools.length === 0) return stop(`pi did not start with it: ${brief(offered.stderr)}`);
	const known = new Set(without.tools.map(({ name }) => name));
	const added = offered.tools.filter(({ name }) => !known.has(name));
	const names = added.map(({ name }) => name);
	const shape = values.call === undefined ? shapeOf(added) : shapeFrom(values.call);
	if (!shape)
		return stop(`None of its tools looks like one that delegates: ${names.join(", ") || "(none)"}.\n${USAGE}`);
	console.log(`${extension}\nasked with ${shape.tool} ${shape.kind}`);
	const rows = await runChecks(extension, shape, values.only ?? "");
	const cost = costOf(offered.characters - without.characters, names);
	printTable("", [["check", "result", "what was seen"], ...rows.map(rowOf), rowOf(["cost of a request", cost])]);
	return rows.some(([, { result }]) => result === "FAIL") ? 1 : 0;
}

/** A file as it is; of a directory what its package.json names, or its index. */
function entryOf(path: string): string | undefined {
	if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return existsSync(path) ? path : undefined;
	const manifest = join(path, "package.json");
	const named = existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")).pi?.extensions?.[0] : undefined;
	const names = typeof named === "string" ? [named] : ["index.ts", "index.js"];
	return names.map((name) => join(path, name)).find((file) => existsSync(file));
}

function stop(message: string): number {
	console.error(message);
	return 2;
}

type Row = readonly [string, Finding];

function rowOf([name, { result, seen }]: Row): string[] {
	return [name, result, seen];
}

/** One after the other: they measure times, and the machine is small. */
async function runChecks(extension: string, shape: Shape, only: string): Promise<Row[]> {
	const rows: Row[] = [];
	const checks: readonly Check[] = [...HONESTY, KILLED, ...ANSWERS, ...ORPHANS, ...LEAKS];
	for (const check of checks.filter(({ name }) => name.includes(only))) {
		const finding = await check.run(extension, shape).catch((error: unknown) => fail(brief(messageOf(error))));
		rows.push([check.name, finding]);
	}
	return rows;
}
