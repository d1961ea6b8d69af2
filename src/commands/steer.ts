import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { err, ok, type Result } from "../domain/result.ts";
import { transcriptText } from "../present/fleet-text.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import { WORDS } from "../present/task-state.ts";
import { receiptText } from "../present/watch-view.ts";
import { readRun } from "../run-directory/read.ts";
import { createFleet, type Fleet, type FleetHost, type FleetRun } from "../session/fleet.ts";
import { hasEnded } from "../session/fleet-run.ts";
import { tell } from "./profile-host.ts";

/** What the words need besides the runs. */
export interface SteeringHost extends FleetHost {
	/** Opens the fleet view, at one run where that is named. */
	openFleet(context: ExtensionCommandContext, runId: string | undefined): Promise<void>;
}

/** What can be done to one run. */
export const STEERING = ["watch", "message", "stop", "background"] as const;
type Verb = (typeof STEERING)[number];

export const isSteering = (verb: string): verb is Verb => STEERING.some((each) => each === verb);

/** `watch <id>`, `message <id> <text>`, `stop <id>` and `background <id>`. */
export async function steer(args: string, host: SteeringHost, context: ExtensionCommandContext): Promise<void> {
	const { verb = "", id = "", text } = wordsOf(args);
	const fleet = createFleet(host);
	const run = await locate(verb === "message" ? id : wholeOf(args, id), fleet);
	if (!run.ok) return tell(context, run.error, "error");
	if (verb === "watch") return await watch(run.value, host, context);
	if (verb === "message") return await message(fleet, run.value, text ?? "", context);
	if (verb === "stop") return await stop(fleet, run.value, context);
	const released = await fleet.release(run.value);
	const words = `${sanitizeLine(run.value.label)} goes on in the background (run: ${run.value.runId})`;
	tell(context, released.ok ? words : released.error, released.ok ? "info" : "error");
}

/** Where nothing follows it, a name with blanks needs no quotes. */
export const wholeOf = (args: string, id: string): string =>
	/^\s*\S+\s+["']/.test(args) ? id : (/^\s*\S+\s+([\s\S]*?)\s*$/.exec(args)?.[1] ?? id);

/** A run of this session, else of any: a run of another one is meant by whoever knows its id. */
export async function locate(id: string, fleet: Fleet): Promise<Result<FleetRun>> {
	const own = fleet.runs("session");
	if (meantBy(id, own).length > 0) return findRun(id, own);
	await fleet.look("all");
	const all = fleet.runs("all");
	return findRun(id, meantBy(id, all).length > 0 ? all : own);
}

/** For completion: by name, with what each was asked. */
export function steeringItems(host: FleetHost) {
	const runs = createFleet(host).runs("session");
	const alive = runs.filter((run) => !hasEnded(run));
	return STEERING.flatMap((verb) =>
		(verb === "watch" ? runs : alive).map((run) => ({
			value: `${verb} ${run.runId}`,
			label: `${verb} ${sanitizeLine(run.label)}`,
			description: sanitizeLine(run.task).slice(0, 80),
		})),
	);
}

async function watch(run: FleetRun, host: SteeringHost, context: ExtensionCommandContext): Promise<void> {
	if (context.mode === "tui") return await host.openFleet(context, run.runId);
	const state = run.state ?? (run.directory === undefined ? undefined : await readRun(run.directory));
	tell(context, transcriptText({ ...run, state }), "info");
}

export async function stop(fleet: Fleet, run: FleetRun, context: ExtensionCommandContext): Promise<void> {
	const name = `${sanitizeLine(run.label)} (run ${run.runId})`;
	if (hasEnded(run)) return tell(context, `${name} has already ended: ${WORDS[run.shown]}`, "error");
	const stopped = await fleet.stop(run);
	tell(context, stopped.ok ? `Stopping ${name}` : stopped.error, stopped.ok ? "info" : "error");
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

const MAX_NAMED = 20;

/** By run id, by session id (its newest run), or by name: of those that have it, the ones that run. */
function meantBy(id: string, runs: readonly FleetRun[]): readonly FleetRun[] {
	const exact = runs.find(({ runId }) => runId === id) ?? newest(runs.filter(({ sessionId }) => sessionId === id));
	if (exact) return [exact];
	const named = runs.filter(({ label }) => label === id);
	const running = named.filter((run) => !hasEnded(run));
	return running.length > 0 ? running : named;
}

/** The one run that is meant, or why there is none. */
export function findRun(id: string, runs: readonly FleetRun[]): Result<FleetRun> {
	const meant = meantBy(id, runs);
	const [only] = meant;
	if (only && meant.length === 1) return ok(only);
	const name = sanitizeLine(id);
	if (only) return err(`"${name}" is the name of ${meant.length} runs: ${meant.map(({ runId }) => runId).join(", ")}`);
	const known = runs.slice(0, MAX_NAMED).map(({ label, runId }) => `${sanitizeLine(label)} (${runId})`);
	return err(`Unknown run: "${name}". Known runs: ${known.join(", ") || "(none)"}`);
}

const newest = (runs: readonly FleetRun[]) => runs.toSorted((a, b) => b.startedAt - a.startedAt)[0];

/** The verb, the id (in quotes where a name has blanks), and the rest as it was typed. */
export function wordsOf(args: string): { readonly [word in "verb" | "id" | "text"]: string | undefined } {
	const found = /^\s*(\S+)(?:\s+(?:(["'])(.*?)\2|(\S+))(?:\s([\s\S]*))?)?/.exec(args);
	const [, verb, , quoted, plain, text] = found ?? [];
	return { verb, id: quoted ?? plain, text };
}
