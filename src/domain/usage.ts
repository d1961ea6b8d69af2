import type { Usage } from "@earendil-works/pi-ai";

export const noUsage: Usage = {
	input: 0,
	output: 0,
	cacheRead: 0,
	cacheWrite: 0,
	totalTokens: 0,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** Adds what both sides report; what a provider leaves out, or gives as anything but a number, counts as zero. */
export function addUsage(a: Usage, b: Partial<Usage> | undefined): Usage {
	if (!b) return a;
	const cost: Partial<Usage["cost"]> = b.cost ?? {};
	return {
		input: a.input + numberOf(b.input),
		output: a.output + numberOf(b.output),
		cacheRead: a.cacheRead + numberOf(b.cacheRead),
		cacheWrite: a.cacheWrite + numberOf(b.cacheWrite),
		...optional("cacheWrite1h", a.cacheWrite1h, b.cacheWrite1h),
		...optional("reasoning", a.reasoning, b.reasoning),
		totalTokens: a.totalTokens + numberOf(b.totalTokens),
		cost: {
			input: a.cost.input + numberOf(cost.input),
			output: a.cost.output + numberOf(cost.output),
			cacheRead: a.cost.cacheRead + numberOf(cost.cacheRead),
			cacheWrite: a.cost.cacheWrite + numberOf(cost.cacheWrite),
			total: a.cost.total + numberOf(cost.total),
		},
	};
}

const numberOf = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);

function optional<K extends "cacheWrite1h" | "reasoning">(key: K, a: number | undefined, b: number | undefined) {
	return a === undefined && b === undefined ? {} : ({ [key]: numberOf(a) + numberOf(b) } as Record<K, number>);
}
