import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectDirectories } from "../definitions/ancestors.ts";
import type { Field } from "./field.ts";

/** The last file that says just this. */
export const originOf = (
	{ key, parse }: Field<unknown>,
	value: unknown,
	sources: readonly Source[],
): string | undefined =>
	sources.findLast(({ values }) => key in values && JSON.stringify(parse(values[key])) === JSON.stringify(value))?.path;

export interface Source {
	readonly path: string;
	readonly values: Readonly<Record<string, unknown>>;
	readonly of: "person" | "project";
}

type Warn = (problem: string, severity?: "refusal") => void;

export function resolveField(field: Field<unknown>, sources: readonly Source[], warn: Warn): unknown {
	return sources.reduce((current, { path, values, of }) => {
		const value = values[field.key];
		if (value === undefined) return current;
		const setting = `${path}: subagents.${field.key}`;
		const { setBy } = field;
		if (of === "project" && setBy.kind === "person") {
			warn(`${setting} is ignored: only your own settings can set it`);
			return current;
		}
		const parsed = field.parse(value);
		if (parsed === undefined && field.mustBe !== undefined) {
			warn(`${setting} must be ${field.mustBe}: no sub-agent is started until it is`, "refusal");
			return current;
		}
		if (of === "project" && setBy.kind === "tighten" && setBy.isLooser(parsed ?? field.fallback, current)) {
			warn(`${setting} cannot be loosened by a project; ${describe(current)} is used`);
			return current;
		}
		if (parsed !== undefined) return parsed;
		warn(`${setting} has a value that it cannot have; ${describe(field.fallback)} is used`);
		return field.fallback;
	}, field.fallback);
}

const describe = (fallback: unknown) => (fallback === undefined ? "no limit" : JSON.stringify(fallback));

export function readSubagentsKey(path: string, warn: (problem: string) => void): Readonly<Record<string, unknown>> {
	const file = readJson(path);
	if (file.kind === "malformed") warn(`${path} is not valid JSON; the defaults are used for sub-agents`);
	if (file.kind !== "object" || file.value.subagents === undefined) return {};
	const { subagents } = file.value;
	if (typeof subagents === "object" && subagents !== null && !Array.isArray(subagents)) {
		return subagents as Record<string, unknown>;
	}
	warn(`${path}: "subagents" must be an object; the defaults are used`);
	return {};
}

/** One of pi's own settings of the person. */
export function readSetting(agentDirectory: string, key: string): unknown {
	const file = readJson(join(agentDirectory, "settings.json"));
	return file.kind === "object" ? file.value[key] : undefined;
}

type JsonFile =
	| { readonly kind: "object"; readonly value: Readonly<Record<string, unknown>> }
	| { readonly kind: "missing" | "malformed" };

function readJson(path: string): JsonFile {
	let text: string;
	try {
		text = readFileSync(path, "utf8");
	} catch {
		return { kind: "missing" };
	}
	try {
		const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
		if (typeof value === "object" && value !== null) return { kind: "object", value: value as Record<string, unknown> };
	} catch {
		// said below
	}
	return { kind: "malformed" };
}

export function nearestSettings(cwd: string): string | undefined {
	return projectDirectories(cwd)
		.map((directory) => join(directory, ".pi", "settings.json"))
		.find((path) => existsSync(path));
}
