import { modelName } from "../domain/model-name.ts";
import type { AvailableModel } from "./model.ts";

/**
 * What a name in a foreign file stands for beyond the usual rules. A word without a number is a line of models: the one
 * with the highest version, then the latest date, then of the session's provider, then the first. Else an id, where a date
 * at its end does not count: an alias and its dated id are one model. Undefined where the usual rules decide.
 */
export function namedInForeignFile(
	name: string,
	models: readonly AvailableModel[],
	sessionProvider: string | undefined,
): AvailableModel | undefined {
	if (models.some((model) => modelName(model) === name || model.id === name)) return undefined;
	if (/\d/.test(name)) return ofUndatedId(name, models);
	const slash = name.lastIndexOf("/");
	const provider = name.slice(0, Math.max(slash, 0)).toLowerCase();
	const offered = slash === -1 ? models : models.filter((model) => model.provider.toLowerCase() === provider);
	return newestOfLine(name.slice(slash + 1), offered, sessionProvider);
}

function newestOfLine(
	line: string,
	models: readonly AvailableModel[],
	sessionProvider: string | undefined,
): AvailableModel | undefined {
	const words = wordsOf(line);
	if (words.length === 0) return undefined;
	const candidates = models
		.filter(({ id }) => words.every((word) => wordsOf(id).includes(word)))
		.map((model, at) => ({ model, at, ...releaseOf(model.id) }));
	const dated = (version: readonly number[]) =>
		Math.max(0, ...candidates.filter((each) => compare(each.version, version) === 0).map(({ date }) => date));
	const isOwn = ({ provider }: AvailableModel) => (provider === sessionProvider ? 1 : 0);
	const [best] = candidates
		.map((each) => ({ ...each, date: each.date || dated(each.version) }))
		.sort((a, b) => compare(b.version, a.version) || b.date - a.date || isOwn(b.model) - isOwn(a.model) || a.at - b.at);
	return best?.model;
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[a-z]+|\d+/g) ?? [];

const DATE = /^20\d{6}$/;

/** The numbers of an id: `claude-3-7-sonnet-20250219` is version 3.7 of that day. */
function releaseOf(id: string): { readonly version: readonly number[]; readonly date: number } {
	const parts = id.toLowerCase().split(/[^a-z0-9]+/);
	const date = parts.find((part) => DATE.test(part));
	const version = parts.filter((part) => /^\d{1,3}[a-z]?$/.test(part)).map((part) => Number.parseInt(part, 10));
	return { version, date: Number(date ?? 0) };
}

function compare(a: readonly number[], b: readonly number[]): number {
	const at = Array.from({ length: Math.max(a.length, b.length) }).findIndex(
		(_, index) => (a[index] ?? 0) !== (b[index] ?? 0),
	);
	return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** Only where one provider has it: no model of another provider is taken instead. */
function ofUndatedId(name: string, models: readonly AvailableModel[]): AvailableModel | undefined {
	const asked = undated(name);
	const fitting = models.filter((model) => undated(model.id) === asked || undated(modelName(model)) === asked);
	const providers = new Set(fitting.map(({ provider }) => provider));
	if (providers.size !== 1) return undefined;
	return fitting.sort((a, b) => releaseOf(b.id).date - releaseOf(a.id).date)[0];
}

const undated = (id: string) =>
	id
		.toLowerCase()
		.replaceAll(".", "-")
		.replace(/[-@]20\d{2}-?\d{2}-?\d{2}$/, "");
