import type { Usage } from "@earendil-works/pi-ai";

export const noUsage: Usage = {
	input: 0,
	output: 0,
	cacheRead: 0,
	cacheWrite: 0,
	totalTokens: 0,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** Adds what both sides report; what a provider leaves out counts as zero. */
export function addUsage(a: Usage, b: Partial<Usage> | undefined): Usage {
	if (!b) return a;
	const cost: Partial<Usage["cost"]> = b.cost ?? {};
	return {
		input: a.input + (b.input ?? 0),
		output: a.output + (b.output ?? 0),
		cacheRead: a.cacheRead + (b.cacheRead ?? 0),
		cacheWrite: a.cacheWrite + (b.cacheWrite ?? 0),
		...optional("cacheWrite1h", a.cacheWrite1h, b.cacheWrite1h),
		...optional("reasoning", a.reasoning, b.reasoning),
		totalTokens: a.totalTokens + (b.totalTokens ?? 0),
		cost: {
			input: a.cost.input + (cost.input ?? 0),
			output: a.cost.output + (cost.output ?? 0),
			cacheRead: a.cost.cacheRead + (cost.cacheRead ?? 0),
			cacheWrite: a.cost.cacheWrite + (cost.cacheWrite ?? 0),
			total: a.cost.total + (cost.total ?? 0),
		},
	};
}

function optional<K extends "cacheWrite1h" | "reasoning">(key: K, a: number | undefined, b: number | undefined) {
	return a === undefined && b === undefined ? {} : ({ [key]: (a ?? 0) + (b ?? 0) } as Record<K, number>);
}
