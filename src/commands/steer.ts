import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { err, ok, type Result } from "../domain/result.ts";
import { transcriptText } from "../present/fleet-text.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import { receiptText } from "../present/watch-view.ts";
import { readRun } from "../run-directory/read.ts";
import { createFleet, type Fleet, type FleetHost, type FleetRun } from "../session/fleet.ts";
import { tell } from "./profile-host.ts";

/** What the words need besides the runs. */
export interface SteeringHost extends FleetHost {
	/** Opens the fleet view, at one run where that is named. */
	openFleet(context: ExtensionCommandContext, runId: string | undefined): Promise<void>;
}

/** What can be done to one run, and what a person is told of it while typing. */
export const STEERING: Readonly<Record<string, string>> = {
	watch: "the transcript of one",
	message: "a text for a running one",
	background: "let a running task go on by itself",
};

/** `watch <id>`, `message <id> <text>` and `background <id>`. */
export async function steer(args: string, host: SteeringHost, context: ExtensionCommandContext): Promise<void> {
	const { verb = "", id = "", text } = wordsOf(args);
	const run = findRun(id, createFleet(host).runs("session"));
	if (run.ok) await act(verb, run.value, text, host, context);
	else tell(context, run.error, "error");
}

/** For completion: by name, with what each was asked. */
export function steeringItems(host: FleetHost) {
	const runs = createFleet(host).runs("session");
	const alive = runs.filter(({ endedAt }) => endedAt === undefined);
	return Object.keys(STEERING).flatMap((verb) =>
		(verb === "watch" ? runs : alive).map((run) => ({
			value: `${verb} ${run.runId}`,
			label: `${verb} ${sanitizeLine(run.label)}`,
			description: sanitizeLine(run.task).slice(0, 80),
		})),
	);
}

async function act(
	verb: string,
	run: FleetRun,
	text: string | undefined,
	host: SteeringHost,
	context: ExtensionCommandContext,
): Promise<void> {
	if (verb === "watch") {
		if (context.mode === "tui") return await host.openFleet(context, run.runId);
		return tell(context, await transcriptOf(run), "info");
	}
	const fleet = createFleet(host);
	if (verb === "message") return await message(fleet, run, text ?? "", context);
	const released = await fleet.release(run);
	const words = `${sanitizeLine(run.label)} goes on in the background (run: ${run.runId})`;
	tell(context, released.ok ? words : released.error, released.ok ? "info" : "error");
}

/** Answers `queued` at once, and what became of it when that is known: `pi -p` has left by then. */
async function message(fleet: Fleet, run: FleetRun, text: string, context: ExtensionCommandContext): Promise<void> {
	const sent = await fleet.message(run, text, "turn-end");
	if (!sent.ok) return tell(context, sent.error, "error");
	const name = sanitizeLine(run.label);
	tell(context, `Message to ${name}: queued`, "info");
	void sent.value.settled.then((receipt) => {
		try {
			tell(context, `Message to ${name}: ${receiptText(receipt)}`, receipt.kind === "delivered" ? "info" : "warning");
		} catch {
			// the session has ended: nobody is there to be told
		}
	});
}

async function transcriptOf(run: FleetRun): Promise<string> {
	const state = run.state ?? (run.directory === undefined ? undefined : await readRun(run.directory));
	return transcriptText({ ...run, state });
}

/** By run id, by session id (its newest run), or by a name that only one has. */
export function findRun(id: string, runs: readonly FleetRun[]): Result<FleetRun> {
	const exact = runs.find(({ runId }) => runId === id) ?? newest(runs.filter(({ sessionId }) => sessionId === id));
	if (exact) return ok(exact);
	const named = runs.filter(({ label }) => label === id);
	const running = named.filter(({ endedAt }) => endedAt === undefined);
	const [only] = running.length > 0 ? running : named;
	if (only && (running.length === 1 || named.length === 1)) return ok(only);
	if (only) return err(`"${id}" is the name of ${named.length} runs: ${named.map(({ runId }) => runId).join(", ")}`);
	return err(`Unknown run: "${id}". Known runs: ${runs.map(({ runId }) => runId).join(", ") || "(none)"}`);
}

const newest = (runs: readonly FleetRun[]) => runs.toSorted((a, b) => b.startedAt - a.startedAt)[0];

/** The verb, the id (in quotes where a name has blanks), and the rest as it was typed. */
export function wordsOf(args: string): { readonly [word in "verb" | "id" | "text"]: string | undefined } {
	const found = /^\s*(\S+)(?:\s+(?:"([^"]*)"|(\S+))(?:\s([\s\S]*))?)?/.exec(args);
	const [, verb, quoted, plain, text] = found ?? [];
	return { verb, id: quoted ?? plain, text };
}
