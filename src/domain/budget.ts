import type { Usage } from "@earendil-works/pi-ai";
import type { RunEvent } from "./event.ts";
import { addUsage, noUsage } from "./usage.ts";

/** Tokens, US dollars and turns (messages of the model): what a run may use, where 0 means no limit, or what it has used. */
export interface Amounts {
	readonly tokens: number;
	readonly cost: number;
	readonly turns: number;
}
export const NO_AMOUNTS: Amounts = { tokens: 0, cost: 0, turns: 0 };

/** A limit that was reached, and how much had been used at that moment. */
export interface UsedUp {
	readonly unit: keyof Amounts;
	readonly used: number;
	readonly limit: number;
	readonly of: "run" | "session";
}

/** What a child may use, and what earlier processes of its run have used of it. */
export interface Allowance {
	readonly limit: Amounts;
	readonly before: Amounts;
}

/** Counts what a run uses, as pi reports it: retries, compactions and tools that ask models are included. */
export interface Meter {
	observe(event: CountedEvent): void;
	/** For a process that goes on with the run. */
	allowance(): Allowance;
	/** The first limit that was reached. */
	usedUp(): UsedUp | undefined;
}

/** Of all events, a message and usage outside of messages count. */
export type CountedEvent =
	| { readonly type: "message"; readonly message: CountedMessage }
	| { readonly type: "spent"; readonly usage: Partial<Usage> | undefined }
	| { readonly type: Exclude<RunEvent["type"], "message" | "spent"> };

interface CountedMessage {
	readonly role: string;
	readonly usage?: Partial<Usage>;
	readonly stopReason?: string;
}

/** Prices are sums of fractions: a limit counts as reached when only rounding is missing. */
const ROUNDING = 1e-9;
const UNITS = ["tokens", "cost", "turns"] as const;

export function createMeter({ limit, before }: Allowance): Meter {
	let usage = noUsage;
	let turns = before.turns;
	const used = (): Amounts => ({
		tokens: before.tokens + usage.totalTokens,
		cost: before.cost + usage.cost.total,
		turns,
	});
	let reached = reachedLimit(used(), limit, "run");
	const spend = (more: Partial<Usage> | undefined) => {
		usage = addUsage(usage, more);
		reached ??= reachedLimit(used(), limit, "run");
	};
	return {
		observe(event) {
			if (event.type === "spent") spend(event.usage);
			if (event.type !== "message") return;
			const { role, usage: more, stopReason } = event.message;
			// A request that failed is retried within its turn.
			if (role === "assistant" && stopReason !== "error" && stopReason !== "aborted") turns++;
			if (role !== "user") spend(more);
		},
		allowance: () => ({ limit, before: used() }),
		usedUp: () => reached,
	};
}

export function reachedLimit(used: Amounts, limit: Amounts, of: UsedUp["of"]): UsedUp | undefined {
	const unit = UNITS.find((each) => limit[each] > 0 && used[each] + ROUNDING >= limit[each]);
	return unit && { unit, used: used[unit], limit: limit[unit], of };
}

/** The smaller of two limits, unit by unit. */
export function smallest(one: Amounts, other: Amounts): Amounts {
	const least = (unit: keyof Amounts) => Math.min(one[unit] || other[unit], other[unit] || one[unit]);
	return { tokens: least("tokens"), cost: least("cost"), turns: least("turns") };
}

/** `3,020 of 2,500 tokens` */
export function describeUse({ unit, used, limit }: Pick<UsedUp, "unit" | "used" | "limit">): string {
	if (unit === "cost") return `${describeCost(used)} of ${describeCost(limit)}`;
	return `${describeCount(used)} of ${describeCount(limit)} ${unit}`;
}

export const describeCount = (count: number): string => count.toLocaleString("en-US", { maximumFractionDigits: 0 });

/** Two decimals, more for amounts that would look like nothing. */
export function describeCost(dollars: number): string {
	const decimals = dollars >= 1 ? 2 : dollars >= 0.01 ? 4 : 6;
	return `$${dollars.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: decimals })}`;
}

/** A limit as somebody wrote it; undefined where it cannot be one. */
export function limitIn(value: unknown, kind: "whole" | "any"): number | undefined {
	if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) return undefined;
	return kind === "whole" && !Number.isInteger(value) ? undefined : value;
}
