import type { RunEvent, StopCause } from "./event.ts";
import type { Limits } from "./spec.ts";

/** Watches a run and says when it should stop. It never stops anything itself. */
export interface Guard {
	observe(event: RunEvent): void;
	dispose(): void;
}

const MAX_TICK_MS = 1_000;

/**
 * Time is counted in ticks of a monotonic clock: while the machine sleeps or this process is stopped nothing ticks, and
 * what was missed is not charged to the run. `onLate` is called once, when the timeout is near.
 */
export function createGuard(limits: Limits, ask: (cause: StopCause) => void, onLate: () => void = () => {}): Guard {
	const tickMs = Math.min(MAX_TICK_MS, Math.max(10, limits.timeoutMs / 20));
	let last = performance.now();
	let activeMs = 0;
	/** Active time at the last tool call, or at the timeout, whichever is later. */
	let idleSinceMs = limits.timeoutMs;
	const { wrapUpMs = 0 } = limits;
	let lateAtMs = wrapUpMs > 0 ? limits.timeoutMs - wrapUpMs : Number.POSITIVE_INFINITY;
	let repeated = { signature: "", count: 0 };
	/** What it waits for. That is not its own time. */
	const waitsFor = new Set<string>();
	const tick = () => {
		const now = performance.now();
		if (waitsFor.size === 0) activeMs += Math.min(now - last, 2 * tickMs);
		last = now;
		if (activeMs >= lateAtMs) {
			lateAtMs = Number.POSITIVE_INFINITY;
			onLate();
		}
		if (activeMs - idleSinceMs >= limits.idleGraceMs) ask({ kind: "timeout", afterMs: limits.timeoutMs });
	};
	const timer = limits.timeoutMs > 0 ? setInterval(tick, tickMs) : undefined;

	return {
		observe(event) {
			noteWaiting(waitsFor, event);
			if (event.type !== "tool-started") return;
			idleSinceMs = Math.max(idleSinceMs, activeMs);
			if (event.nested) return; // a script may well ask the same thing in a loop
			const signature = `${event.name} ${canonical(event.args)}`;
			repeated = { signature, count: signature === repeated.signature ? repeated.count + 1 : 1 };
			if (limits.repeatedCalls > 0 && repeated.count >= limits.repeatedCalls) ask({ kind: "loop", tool: event.name });
		},
		dispose() {
			clearInterval(timer);
		},
	};
}

/** For a slot of its model, or for an answer of the person. */
function noteWaiting(waitsFor: Set<string>, event: RunEvent): void {
	if (event.type === "waiting") waitsFor.add("slot");
	if (event.type === "admitted") waitsFor.delete("slot");
	if (event.type === "asked") waitsFor.add(event.question.id);
	if (event.type === "question-closed") waitsFor.delete(event.id);
}

/** Key order does not matter and every nested value does: two different edits of one file are not a loop. */
export function canonical(value: unknown): string {
	return (
		JSON.stringify(value, (_key, inner: unknown) =>
			inner !== null && typeof inner === "object" && !Array.isArray(inner)
				? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
				: inner,
		) ?? "undefined"
	);
}
