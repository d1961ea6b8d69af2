import { limitIn } from "../domain/budget.ts";
import { isThinkingLevel, type OutputSchema, THINKING_LEVELS, type ThinkingLevel } from "../domain/definition.ts";
import type { Frontmatter, Problem } from "./frontmatter.ts";
import { type ReadBeside, readSchema } from "./output-schema.ts";

/** Every field that means something, in the order in which a file is written. */
export const FIELDS = [
	"name",
	"description",
	"provider",
	"model",
	"thinkingLevel",
	"fallbackModels",
	"tools",
	"noTools",
	"excludeTools",
	"approved_tools",
	"allowed_tools",
	"denied_tools",
	"extensions",
	"noExtensions",
	"noSkills",
	"suggestedSkills",
	"loadSkills",
	"noContextFiles",
	"appendSystemPrompt",
	"apiKey",
	"extraArgs",
	"timeout",
	"maxTokens",
	"maxCost",
	"maxTurns",
	"mayAsk",
	"output",
	"isolation",
	"changes",
	"network",
] as const;
export type Field = (typeof FIELDS)[number];

/** Reads values as people write them, and notes what cannot be one. */
export interface FieldReader {
	/** Undefined where the field is missing or empty. */
	text(field: Field): string | undefined;
	/** The same, with the white space around it. */
	verbatim(field: Field): string | undefined;
	/** A list, or a string with commas; undefined where the field is missing. */
	list(field: Field): readonly string[] | undefined;
	/** False where the field is missing, unless another default is given. */
	flag(field: Field, fallback?: boolean): boolean;
	thinkingLevel(field: Field): ThinkingLevel | undefined;
	/** One of these words; undefined where the field is missing. */
	choice<T extends string>(field: Field, options: readonly T[]): T | undefined;
	/** A field that has a meaning, but cannot be had yet: a definition that has it cannot be used. */
	unavailable(field: Field, reason: string): void;
	number(field: Field, min: number, max: number): number | undefined;
	/** A limit above 0, `whole` or not; 0 where the field is missing. */
	limit(field: Field, kind: "whole" | "any"): number;
	/** A JSON Schema, or the path of a file with one. */
	schema(field: Field): OutputSchema | undefined;
	readonly problems: readonly Problem[];
}

const WORDS: ReadonlyMap<string, boolean> = new Map([
	["true", true],
	["yes", true],
	["on", true],
	["false", false],
	["no", false],
	["off", false],
]);

export function createFieldReader({ fields, lineOf }: Frontmatter, readBeside: ReadBeside): FieldReader {
	const problems: Problem[] = misspelled(Object.keys(fields)).map(({ written, meant }) => ({
		line: lineOf(written),
		message: `unknown field "${written}": it is called "${meant}"`,
	}));
	const complain = (field: Field, message: string): undefined => {
		problems.push({ line: lineOf(field), message: `${field} ${message}` });
		return undefined;
	};
	const verbatim = (field: Field): string | undefined => {
		const value = fields[field] ?? undefined;
		if (value === undefined || value === "") return undefined;
		if (typeof value === "string") return value;
		return complain(field, isScalar(value) ? "must be text: put quotes around it" : "must be text");
	};
	const text = (field: Field) => verbatim(field)?.trim() || undefined;
	return {
		problems,
		verbatim,
		text,
		list(field) {
			const value = fields[field];
			if (value === undefined) return undefined;
			if (value === null) return []; // a field that says nothing is not one that is missing
			if (typeof value === "string") return splitList(value);
			if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value;
			return complain(field, "must be a list of texts, or texts with commas between them");
		},
		flag(field, fallback = false) {
			const value = fields[field] ?? fallback;
			const known = typeof value === "boolean" ? value : WORDS.get(String(value).trim().toLowerCase());
			return known ?? complain(field, "must be true or false") ?? fallback;
		},
		thinkingLevel(field) {
			const value = fields[field] === false ? "off" : text(field)?.toLowerCase(); // YAML 1.1 habits: off is false
			if (value === undefined || isThinkingLevel(value)) return value;
			return complain(field, `must be one of ${THINKING_LEVELS.join(", ")}`);
		},
		choice(field, options) {
			const value = text(field)?.toLowerCase();
			if (value === undefined) return undefined;
			return options.find((option) => option === value) ?? complain(field, `must be ${options.join(" or ")}`);
		},
		unavailable(field, reason) {
			if ((fields[field] ?? undefined) !== undefined) complain(field, reason);
		},
		number(field, min, max) {
			const value = fields[field] ?? undefined;
			if (value === undefined) return undefined;
			const number = typeof value === "string" ? Number(value.trim() || Number.NaN) : value;
			if (typeof number === "number" && number >= min && number <= max) return number;
			return complain(field, `must be a number from ${min} to ${max}`);
		},
		schema(field) {
			const value = fields[field] ?? "";
			if (value === "") return undefined;
			const schema = readSchema(value, readBeside);
			return schema.ok ? schema.value : complain(field, schema.error);
		},
		limit(field, kind) {
			const value = fields[field] ?? undefined;
			if (value === undefined) return 0;
			const number = limitIn(typeof value === "string" ? Number(value.trim() || Number.NaN) : value, kind);
			return (
				number ?? complain(field, kind === "whole" ? "must be a whole number above 0" : "must be a number above 0") ?? 0
			);
		},
	};
}

export const splitList = (text: string): string[] =>
	text
		.split(",")
		.map((item) => item.trim())
		.filter((item) => item !== "");

const isScalar = (value: unknown) => typeof value === "number" || typeof value === "boolean";

/** A restriction that is only misspelled must not be lost without a word. Fields of other programs are none of ours. */
function misspelled(written: readonly string[]): { written: string; meant: Field }[] {
	const plain = (name: string) => name.toLowerCase().replace(/[_-]/g, "").replace(/s$/, "");
	const known = new Map(FIELDS.map((field) => [plain(field), field]));
	return written.flatMap((name) => {
		const meant = known.get(plain(name));
		return meant === undefined || (FIELDS as readonly string[]).includes(name) ? [] : [{ written: name, meant }];
	});
}
