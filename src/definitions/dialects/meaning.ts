import { isThinkingLevel, type ThinkingLevel } from "../../domain/definition.ts";
import { MAX_TIMEOUT_SECONDS } from "../../domain/longest-timeout.ts";
import { splitList } from "../fields.ts";

/** What one field of a foreign file does to the definition that is made from it. */
export type Effect =
	| { readonly kind: "name"; readonly text: string }
	| { readonly kind: "description"; readonly text: string }
	| { readonly kind: "provider"; readonly name: string }
	| { readonly kind: "model"; readonly name: string }
	| { readonly kind: "thinking"; readonly level: ThinkingLevel }
	| { readonly kind: "prompt"; readonly mode: "replace" | "append" }
	| { readonly kind: "addition"; readonly text: string }
	/** Several of these leave what all of them allow. */
	| { readonly kind: "only"; readonly tools: readonly string[] }
	| { readonly kind: "without"; readonly tools: readonly string[] }
	| { readonly kind: "switched-off"; readonly what: "extensions" | "skills" | "context files" }
	| { readonly kind: "timeout"; readonly seconds: number }
	| { readonly kind: "turns"; readonly count: number }
	/** Its runs get a tree of their own. */
	| { readonly kind: "own-tree" }
	/** The definition cannot be called. */
	| { readonly kind: "refused"; readonly reason: string }
	/** The file is no sub-agent. */
	| { readonly kind: "not-offered"; readonly reason: string };

export interface Meaning {
	/** What the field became here, for a person. */
	readonly became: string;
	readonly effects: readonly Effect[];
}

/** What a value of a field means. `field` is as the file spells it. */
export type Reading = (value: unknown, field: string) => Meaning;

/** Fields of a dialect, without case, hyphens and underscores: `max_turns` and `maxTurns` are one. */
export type DialectTable = Readonly<Record<string, Reading>>;

export const plainField = (field: string): string => field.toLowerCase().replace(/[_-]/g, "");

export const meaning = (became: string, ...effects: readonly Effect[]): Meaning => ({ became, effects });

export const refused = (reason: string): Meaning => meaning(`cannot be called: ${reason}`, { kind: "refused", reason });

export const unused: Reading = () => meaning("not used");

/** A field that says how something looks, or what other programs do with it, with the reason why it does nothing here. */
export const unusedBecause =
	(why: string): Reading =>
	() =>
		meaning(`not used: ${why}`);

/** For a field whose value is a text: what is no text is refused, because nobody knows what was meant. */
export const text =
	(read: (value: string, field: string) => Meaning): Reading =>
	(value, field) => {
		if (value === null || value === undefined) return meaning("empty");
		if (typeof value === "string") return read(value.trim(), field);
		if (typeof value === "number" || typeof value === "boolean") return read(String(value), field);
		return refused(`"${field}" must be text`);
	};

const WORDS: ReadonlyMap<string, boolean> = new Map([
	["true", true],
	["yes", true],
	["on", true],
	["1", true],
	["false", false],
	["no", false],
	["off", false],
	["0", false],
	["none", false],
]);

/** A value as a text. One that is a list or a mapping has none: what it says of itself may be anything. */
export const wordOf = (value: unknown): string => (typeof value === "object" ? "…" : String(value));

const numberOf = (value: unknown): number =>
	typeof value === "object" && value !== null ? Number.NaN : Number(value ?? 0);

export function flagOf(value: unknown): boolean | undefined {
	return typeof value === "boolean" ? value : WORDS.get(wordOf(value).trim().toLowerCase());
}

/** What a field that is switched on means; switched off it does nothing, and anything else is refused. */
export const whenOn =
	(on: (field: string) => Meaning): Reading =>
	(value, field) => {
		const flag = flagOf(value);
		if (flag === undefined) return refused(`"${field}" must be true or false`);
		return flag ? on(field) : meaning("no effect: it is switched off");
	};

/** The other way round: `inheritSkills: false`. */
export const whenOff =
	(off: (field: string) => Meaning): Reading =>
	(value, field) => {
		const flag = flagOf(value);
		if (flag === undefined) return refused(`"${field}" must be true or false`);
		return flag ? meaning("no effect: it is switched on") : off(field);
	};

/** A list, or a text with commas between its parts; undefined for anything else. Commas in brackets part nothing. */
export function listOf(value: unknown): readonly string[] | undefined {
	if (value === null || value === undefined) return [];
	if (typeof value === "string") return splitTools(value);
	if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value.flatMap(splitTools);
	return undefined;
}

function splitTools(text: string): string[] {
	const parts = text.replace(/\(([^)]*)\)/g, (all) => all.replaceAll(",", " "));
	// Some write a list without commas.
	return splitList(/[,(\n]/.test(parts) ? parts.replaceAll("\n", ",") : parts.trim().split(/\s+/).join(","));
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** Levels under other names, and levels as Claude Code and OpenCode call them. */
export const thinking: Reading = text((value) => {
	const level = value.toLowerCase();
	if (level === "none" || level === "false") return meaning("thinkingLevel: off", { kind: "thinking", level: "off" });
	if (isThinkingLevel(level)) return meaning(`thinkingLevel: ${level}`, { kind: "thinking", level });
	return meaning(`not used: "${value}" is no thinking level of pi`);
});

/** At most so many turns; 0 is no limit. */
export const turnLimit: Reading = (value, field) => {
	const count = numberOf(value);
	if (count === 0) return meaning("not used: no limit");
	if (!Number.isFinite(count) || count < 0) return refused(`"${field}" must be a number of turns`);
	return meaning(`maxTurns: ${Math.ceil(count)}`, { kind: "turns", count: Math.ceil(count) });
};

/** A limit in time, in units of so many seconds. */
export const timeLimit =
	(unit: number): Reading =>
	(value, field) => {
		const seconds = Math.ceil(numberOf(value) * unit);
		if (!Number.isFinite(seconds) || seconds < 0) return refused(`"${field}" must be a number`);
		if (seconds === 0) return meaning("not used: no limit");
		return meaning(`timeout: ${Math.min(seconds, MAX_TIMEOUT_SECONDS)} s`, {
			kind: "timeout",
			seconds: Math.min(seconds, MAX_TIMEOUT_SECONDS),
		});
	};
