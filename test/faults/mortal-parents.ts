import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { BackgroundRun } from "../../src/domain/kept-run.ts";
import type { PreparedRun } from "../../src/run/execute.ts";
import type { Setup } from "../rig/fake-run.ts";
import type { FakeStep } from "../rig/fake-steps.ts";

import { startingRun } from "../rig/records.ts";

const PARENT = fileURLToPath(new URL("./fixtures/mortal-parent.ts", import.meta.url));

/** What a parent is to do. */
export interface ParentOrders {
	readonly session: string;
	/** The step at which it dies; 0 = it lives to the end. */
	readonly dieAt: number;
	/** Whether the session takes messages at once, or at the end of the turn. */
	readonly messages: "at once" | "held back";
	readonly launch: { readonly run: BackgroundRun; readonly prepared: PreparedRun } | undefined;
}

let parents = 0;

/** Runs one parent to its end: how many steps it took, or that it died. */
export async function parent(
	setup: Setup,
	orders: ParentOrders,
	env: Readonly<Record<string, string>> = {},
): Promise<number | "died"> {
	const file = join(setup.temporary, `orders-${parents++}.json`);
	writeFileSync(file, JSON.stringify(orders));
	const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", PARENT, file], {
		stdio: ["ignore", "pipe", "pipe"],
		env: { ...process.env, ...env },
	});
	const said = Promise.all([readText(child.stdout), readText(child.stderr)]);
	const [code, signal] = await once(child, "close");
	const [out, errors] = await said;
	if (signal === "SIGKILL") return "died";
	if (code !== 0 || errors !== "") throw new Error(`The parent ended with ${code}: ${errors}`);
	return Number.parseInt(out, 10);
}

export function launchOf(setup: Setup, steps: readonly FakeStep[]): NonNullable<ParentOrders["launch"]> {
	const prepared = setup.prepare(steps, { lifetime: "background", family: "preset" });
	const run = startingRun(prepared, "the session");
	return { run, prepared };
}

/** How many entries of a type a session file has. */
export function countIn(session: string, customType: string): number {
	if (!existsSync(session)) return 0;
	return readFileSync(session, "utf8").split(`"customType":"${customType}"`).length - 1;
}
