import type { ExtensionContext, MessageEndEvent, MessageUpdateEvent } from "@earendil-works/pi-coding-agent";
import { type Host, parentOf, surroundingsOf } from "../call/host.ts";
import { childPrograms } from "../child/scripts.ts";
import type { Parent, PlannedRun } from "../plan/parent.ts";
import { planRun, type RunRequest } from "../plan/run.ts";
import { canBeParked, launchKey, type ParkedRun, parkRun, underIdsOf } from "./parked-run.ts";
import { familyOf, requestsSoFar } from "./unfinished-call.ts";

/** A call that is written this fast needs no head start, and gets none. */
const PATIENCE_MS = 20;
/** Where tasks follow each other faster than children start, the next one's is started before there is a word of it. */
const START_MS = 1_000;
/** Then another one takes its place: what pi has read when it started may be out of date. */
const MAX_AGE_MS = 50_000;

/**
 * Starts the children of a call while the model is still writing it, so that they are ready when it is made. A child is
 * used only for a run that would start just the same; others are ended.
 */
export interface HeadStart {
	/** More of a message has been written. */
	observe(event: MessageUpdateEvent, context: ExtensionContext): void;
	/** The message is complete: its calls are made now, if there are any. */
	messageEnded(event: MessageEndEvent): void;
	/** A child that was started as this run's would be. */
	take(request: RunRequest, key: string): ParkedRun | undefined;
	/** The call has taken what it needs, or will not be made. */
	callBegun(callId: string): void;
	/** Nothing of the message will be needed any more. */
	drop(): void;
}

/** A parked run, and how its child was started. */
export interface Parked {
	readonly key: string;
	readonly run: ParkedRun;
}

interface WrittenCall {
	readonly name: string;
	readonly arguments: Record<string, unknown>;
}

/** What is asked of the session to plan a run in it. */
type Session = Pick<Host, "pi" | "command" | "library" | "warn" | "budget">;

export function createHeadStart(host: Session): HeadStart {
	let parked: Parked[] = [];
	let calls: readonly WrittenCall[] = [];
	let expected = new Set<string>();
	let timer: NodeJS.Timeout | undefined;
	/** Of the message that is being written. */
	let planning: Planning | undefined;

	const endLooking = () => {
		clearTimeout(timer);
		timer = undefined;
		planning = undefined;
	};
	const drop = () => {
		endLooking();
		expected = new Set();
		for (const { run } of parked) void run.drop();
		parked = [];
	};
	const look = async (context: ExtensionContext) => {
		planning ??= createPlanning(host, context);
		const current = planning;
		const { parent } = current;
		const { headStart, maxConcurrency, maxRunsPerSession, families } = parent.settings;
		const ours = calls.filter(({ name }) => families.some((family) => family === familyOf(name)));
		if (!headStart || ours.length === 0) return;
		const room = Math.min(maxConcurrency, host.budget.left(maxRunsPerSession));
		const requests = current.expected(ours).slice(0, room);
		const wanted = (await Promise.all(requests.map(current.plan))).filter((each) => each !== undefined);
		if (current === planning) parked = fit(parked, wanted, parent); // else the message is complete
	};
	return {
		observe({ message, assistantMessageEvent: { type } }, context) {
			if (!type.startsWith("toolcall_") || message.role !== "assistant") return;
			calls = message.content.flatMap((part) => (part.type === "toolCall" && familyOf(part.name) ? [part] : []));
			if (calls.length === 0) return;
			timer ??= setTimeout(() => {
				timer = undefined;
				look(context).catch(() => {}); // a head start is a gift
			}, PATIENCE_MS);
		},
		messageEnded({ message }) {
			if (message.role !== "assistant") return;
			endLooking();
			const parts = message.stopReason === "toolUse" ? message.content : [];
			const ids = parts.flatMap((part) => (part.type === "toolCall" && familyOf(part.name) ? [part.id] : []));
			if (ids.length === 0 || parked.length === 0) drop();
			else expected = new Set(ids);
		},
		take(request, key) {
			if (!canBeParked(request)) return undefined;
			const at = parked.findIndex((each) => each.key === key && each.run.isAlive());
			return at === -1 ? undefined : parked.splice(at, 1)[0]?.run;
		},
		callBegun(callId) {
			expected.delete(callId);
			if (expected.size === 0) drop();
		},
		drop,
	};
}

export interface Wanted {
	readonly key: string;
	readonly plan: PlannedRun;
}

interface Planning {
	readonly parent: Parent;
	/** The runs of what has been written so far, and of what will be before a child could be started for it. */
	expected(calls: readonly WrittenCall[]): RunRequest[];
	/** What an expected run comes to; undefined where it cannot be parked, or makes no sense. */
	plan(request: RunRequest): Promise<Wanted | undefined>;
}

/** The same few fields are looked at again with every word that is written: they are planned once per message. */
function createPlanning(host: Session, context: ExtensionContext): Planning {
	const parent = parentOf(host, context);
	const known = new Map<string, Promise<Wanted | undefined>>();
	const startedAt = performance.now();
	return {
		parent,
		expected: (calls) =>
			calls.flatMap(({ name, arguments: args }) => {
				const requests = requestsSoFar(name, args, parent);
				const isFast = requests.length > 1 && performance.now() - startedAt < requests.length * START_MS;
				return isFast ? requestsSoFar(name, args, parent, 1) : requests;
			}),
		async plan(request) {
			if (!canBeParked(request)) return undefined;
			const { family, definition, model, cwd, session, lifetime } = request;
			const id = JSON.stringify([family, definition, model, cwd, session.kind, lifetime]);
			const wanted = known.get(id) ?? planned(request, parent, host, context);
			known.set(id, wanted);
			const plan = await wanted;
			return plan && { ...plan, plan: underIdsOf(request, plan.plan, parent) };
		},
	};
}

async function planned(
	request: RunRequest,
	parent: Parent,
	host: Session,
	context: ExtensionContext,
): Promise<Wanted | undefined> {
	const plan = await planRun(request, parent, surroundingsOf(host, context), childPrograms());
	return plan.ok ? { key: launchKey(request, plan.value), plan: plan.value } : undefined;
}

/** Ends what is not wanted (any more) and starts what is missing. */
export function fit(parked: readonly Parked[], wanted: readonly Wanted[], parent: Parent): Parked[] {
	const open = [...wanted];
	const kept = parked.filter(({ key, run }) => {
		const at = open.findIndex((each) => each.key === key);
		const fits = at !== -1 && run.isAlive() && performance.now() - run.parkedAt < MAX_AGE_MS;
		if (fits) open.splice(at, 1);
		else void run.drop();
		return fits;
	});
	const started = open.flatMap(({ key, plan }) => {
		const run = parkRun(plan, parent);
		return run ? [{ key, run }] : [];
	});
	return [...kept, ...started];
}
