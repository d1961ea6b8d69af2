import { type Amounts, describeCost, describeCount } from "../domain/budget.ts";
import type { AgentDefinition } from "../domain/definition.ts";
import { budgetWords } from "./definition-text.ts";

/** A limit that is in force, and where it comes from. */
export interface Limit {
	readonly text: string;
	readonly from: string;
}

/** What of the settings is a limit. */
export interface LimitSettings {
	readonly maxTokens: number | undefined;
	readonly maxCost: number | undefined;
	readonly maxTurns: number | undefined;
	readonly maxSessionTokens: number | undefined;
	readonly maxSessionCost: number | undefined;
	readonly fallbackModels: readonly string[];
	readonly maxInFlight: Readonly<Record<string, number>>;
}

/** The limits of the settings. `fromOf` says which file a key was set in; `spent` is what this session has used. */
export function settingLimits(
	settings: LimitSettings,
	fromOf: (key: keyof LimitSettings) => string,
	spent: Amounts | undefined,
): readonly Limit[] {
	const { maxTokens, maxCost, maxTurns, maxSessionTokens, maxSessionCost, fallbackModels, maxInFlight } = settings;
	const limit = (key: keyof LimitSettings, value: string | 0 | undefined): Limit[] =>
		value === undefined || value === 0 ? [] : [{ text: `${key} ${value}`, from: fromOf(key) }];
	const used = (amount: string | undefined) => (amount === undefined ? "" : ` (${amount} used)`);
	const tokens = spent && describeCount(spent.tokens);
	const cost = spent && describeCost(spent.cost);
	const flights = Object.entries(maxInFlight).map(([key, count]) => `${key} ${count}`);
	return [
		...limit("maxTokens", maxTokens && describeCount(maxTokens)),
		...limit("maxCost", maxCost && describeCost(maxCost)),
		...limit("maxTurns", maxTurns && describeCount(maxTurns)),
		...limit("maxSessionTokens", maxSessionTokens && `${describeCount(maxSessionTokens)}${used(tokens)}`),
		...limit("maxSessionCost", maxSessionCost && `${describeCost(maxSessionCost)}${used(cost)}`),
		...limit("maxInFlight", flights.length > 0 ? flights.join(", ") : undefined),
		...limit("fallbackModels", fallbackModels.length > 0 ? fallbackModels.join(", ") : undefined),
	];
}

/** Those of a definition, in one; undefined where it has none. */
export function definitionLimit({ name, budget, fallbackModels, origin }: AgentDefinition): Limit | undefined {
	const words = [
		budgetWords(budget),
		fallbackModels.length > 0 ? `fallbackModels ${fallbackModels.join(", ")}` : undefined,
	].filter((each) => each !== undefined);
	return words.length === 0 ? undefined : { text: `${name}: ${words.join("; ")}`, from: origin.path };
}

export const limitLine = ({ text, from }: Limit): string => `${text} — ${from}`;
