import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { projectDirectories } from "../definitions/ancestors.ts";
import { type Catalog, entriesIn, IGNORED_FOR_TRUST } from "../definitions/catalog.ts";
import { countingEntry, whatIsWrong } from "../definitions/lookup.ts";
import { parseDefinition } from "../definitions/parse.ts";
import { type Place, placesOf, projectPlace, realPlace } from "../definitions/places.ts";
import { readFileBeside } from "../definitions/read-file.ts";
import { type Entry, originOf, type RejectedEntry } from "../definitions/read-place.ts";
import { realPath } from "../definitions/real-path.ts";
import {
	type Changes,
	createFile,
	deleteFile,
	renderChanged,
	renderDefinition,
	replaceFile,
} from "../definitions/write.ts";
import { type AgentDefinition, isForeignSource, NAME_PATTERN, type Origin } from "../domain/definition.ts";
import { err, messageOf, ok, type Result } from "../domain/result.ts";
import { definitionReview, originWords } from "../present/definition-text.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import { readExample } from "./examples.ts";
import { type ProfileHost, tell } from "./profile-host.ts";
import { askChanges, askNew, LAST_STEP, step } from "./profile-wizard.ts";

/** What a new profile is made from: questions, or a copy of an example. */
export type Template =
	| { readonly kind: "questions" }
	| { readonly kind: "example"; readonly name: string }
	/** A definition of another program, in our words. */
	| { readonly kind: "import"; readonly changes: Changes };

export async function createProfile(
	name: string,
	template: Template,
	context: ExtensionCommandContext,
	host: ProfileHost,
): Promise<void> {
	if (!NAME_PATTERN.test(name)) {
		return tell(context, `"${name}" is not a name: letters, digits, - and _ only`, "error");
	}
	const example = template.kind === "example" ? readExample(template.name) : undefined;
	if (example && !example.ok) return tell(context, example.error, "error");
	const place = await choosePlace(name, template, context, host);
	if (place === undefined) return;
	const path = join(place.directory, `${name}.md`);
	host.invalidate(); // no older than the files that it is compared with
	const refusal = whyRefused(name, path, place, host.catalog());
	if (refusal !== undefined) return tell(context, refusal, "error");
	const { kind, scope, base } = place;
	const origin: Origin = { kind, scope, path, base, trust: "trusted", shadows: false };
	const text = await textOf(name, template, example?.value, context, host);
	if (!text.ok) return tell(context, `Nothing was saved: ${text.error}`, "error");
	await review(text.value, origin, template.kind === "questions" ? "new, step by step" : "new", context, host, () =>
		createFile(path, text.value, scope === "global" ? "private" : "shared"),
	);
}

async function textOf(
	name: string,
	template: Template,
	example: string | undefined,
	{ ui }: ExtensionCommandContext,
	{ models }: ProfileHost,
): Promise<Result<string>> {
	if (example !== undefined)
		return await renderChanged(example, { fields: new Map([["name", name]]), body: undefined });
	return ok(await renderDefinition(name, template.kind === "import" ? template.changes : await askNew(ui, models())));
}

/** Writes a foreign definition as a profile of ours. What cannot be called is refused: nobody knows what it would be. */
export async function importProfile(entry: Entry, context: ExtensionCommandContext, host: ProfileHost): Promise<void> {
	const { name } = entry;
	const { kind, path } = originOf(entry);
	if (!isForeignSource(kind))
		return tell(context, `"${name}" is a definition of this package already: ${path}`, "warning");
	if (entry.kind !== "usable") return tell(context, `"${name}" cannot be imported: ${whatIsWrong(entry)}`, "error");
	const changes = host.imported(entry.definition);
	if (!changes.ok) return tell(context, `"${name}" cannot be imported: ${path}: ${changes.error}`, "error");
	await createProfile(name, { kind: "import", changes: changes.value }, context, host);
}

/** Why the place cannot take one more of this name: what would be asked is in vain then. */
function whyRefused(name: string, path: string, place: Place, catalog: Catalog): string | undefined {
	const real = realPlace(place);
	if (real && "refusal" in real) return `${place.directory} ${real.refusal}`;
	const known = entriesIn(place).find((entry) => entry.name === name);
	if (known === undefined) {
		return existsSync(path) ? `${path} exists, and is no profile "${name}": mend or remove that file` : undefined;
	}
	const why = whyNotCounting(name, originOf(known), catalog);
	if (why !== undefined) return `"${name}" exists: change its file, ${originOf(known).path}. It is ${why}`;
	if (known.kind === "rejected") return `"${name}" exists, but cannot be used: ${howToMend(known)}`;
	return `"${name}" exists: use /profile edit ${name}`;
}

/** Undefined where this file is the one that its name stands for here. */
function whyNotCounting(name: string, { kind, scope, path }: Origin, catalog: Catalog): string | undefined {
	const counting = countingEntry(catalog, kind, name);
	if (counting && originOf(counting).path === path) return undefined;
	if (scope === "project" && catalog.ignored.has(name)) return IGNORED_FOR_TRUST;
	return counting ? `hidden by ${originOf(counting).path}` : "not in use: see /profile list";
}

/** What is wrong with a file that cannot be used, and what a person can do about it. */
export const howToMend = (entry: RejectedEntry): string =>
	isForeignSource(entry.origin.kind)
		? whatIsWrong(entry)
		: `${whatIsWrong(entry)}\nMend that file in an editor, or remove it with /profile delete ${entry.name}`;

/** Where the profile goes; undefined where nobody chose. A copy asks nothing else, so without anybody to ask it is global. */
async function choosePlace(
	name: string,
	template: Template,
	context: ExtensionCommandContext,
	{ agentDirectory }: ProfileHost,
): Promise<Place | undefined> {
	const places = profilePlaces(context.cwd, agentDirectory);
	if (!context.hasUI) {
		if (template.kind === "example") return places[0];
		tell(context, needsPerson(`${places[0]?.directory}/${name}.md`), "error");
		return undefined;
	}
	const labels = places.map(({ scope, directory }) =>
		sanitizeLine(`${scope === "global" ? "Global" : "Project"} (${directory})`),
	);
	const chosen = await context.ui.select(template.kind === "questions" ? step("Scope", 1) : "Scope", labels);
	const place = places[labels.indexOf(chosen ?? "")];
	if (!place) tell(context, "Nothing was saved.", "info");
	return place;
}

export async function editProfile(
	definition: AgentDefinition,
	context: ExtensionCommandContext,
	host: ProfileHost,
): Promise<void> {
	const { origin } = definition;
	if (!context.hasUI) return tell(context, needsPerson(origin.path), "error");
	const where = sanitizeLine(`${origin.scope === "global" ? "Global" : "Project"} (${origin.path})`);
	if ((await context.ui.select("Scope", [where])) === undefined) return tell(context, "Nothing was saved.", "info");
	const changes = await askChanges(context.ui, definition);
	const text = await changedText(origin.path, changes);
	if (!text.ok) return tell(context, `"${definition.name}" cannot be edited: ${text.error}`, "error");
	await review(text.value, origin, "edited", context, host, () => replaceFile(origin.path, text.value));
}

async function changedText(path: string, changes: Changes): Promise<Result<string>> {
	try {
		return await renderChanged(readFileSync(path, "utf8"), changes);
	} catch (error) {
		return err(messageOf(error));
	}
}

/** The last step: what would be saved is read as it will be, shown, and saved only on a yes of whoever can be asked. */
async function review(
	text: string,
	origin: Origin,
	how: "new, step by step" | "new" | "edited",
	context: ExtensionCommandContext,
	host: ProfileHost,
	save: () => Result<undefined>,
): Promise<void> {
	const parsed = parseDefinition(text, isForeignSource(origin.kind) ? "profile" : origin.kind, (path) =>
		readFileBeside(origin.path, path, undefined),
	);
	if (parsed.kind !== "definition") {
		const problems = parsed.kind === "rejected" ? parsed.problems : parsed.kind === "broken" ? [parsed.problem] : [];
		const reasons = problems.map(({ message }) => message).join("; ") || "it would not be a definition";
		return tell(context, `Nothing was saved: ${reasons}`, "error");
	}
	const definition = { ...parsed.definition, origin };
	const asked = `Save ${originWords(origin)} "${definition.name}"?`;
	const question = how === "new, step by step" ? step(asked, LAST_STEP) : asked;
	if (context.hasUI && !(await context.ui.confirm(question, definitionReview(definition)))) {
		return tell(context, "Nothing was saved.", "info");
	}
	const saved = save();
	host.invalidate();
	if (!saved.ok) return tell(context, `Nothing was saved: ${saved.error}`, "error");
	const words = `Saved ${originWords(origin)} "${definition.name}": ${origin.path}`;
	const why = whyNotCounting(definition.name, origin, host.catalog());
	if (why === undefined) return tell(context, `${words}${how === "edited" ? "" : presetHint(definition)}`, "info");
	tell(context, `${words}. It is ${why}`, "warning");
}

/** Whoever calls it as a preset has to name a model: better to know that now. */
const presetHint = ({ model }: AgentDefinition): string =>
	model.name === undefined && model.provider === undefined
		? ". It has no model: a call as preset must name one, other calls use the session's"
		: "";

export async function deleteProfile(entry: Entry, context: ExtensionCommandContext, host: ProfileHost): Promise<void> {
	const { name } = entry;
	const origin = originOf(entry);
	if (!context.hasUI) return tell(context, needsPerson(origin.path), "error");
	const question = `Delete the ${originWords(origin)} "${name}"?`;
	if (!(await context.ui.confirm(question, sanitizeLine(origin.path))))
		return tell(context, "Nothing was deleted.", "info");
	const deleted = deleteFile(origin.path);
	host.invalidate();
	if (!deleted.ok) return tell(context, `Nothing was deleted: ${deleted.error}`, "error");
	const next = countingEntry(host.catalog(), origin.kind, name);
	const rest = next ? `. The ${originWords(originOf(next))} "${name}" counts now` : "";
	tell(context, `Deleted the ${origin.scope} ${origin.kind} "${name}": ${origin.path}${rest}`, "info");
}

const needsPerson = (path: string) => `This needs somebody to answer; without a terminal, change the file: ${path}`;

/** Where a new profile can be put: where it will be found from here, global first. In the home directory there is no project. */
function profilePlaces(cwd: string, agentDirectory: string): Place[] {
	const places = placesOf(cwd, agentDirectory).filter(({ kind }) => kind === "profile");
	const global = places.filter(({ scope }) => scope === "global");
	const known = places.filter(({ scope }) => scope === "project");
	if (known.length > 0) return [...global, ...known];
	const here = realPath(resolve(cwd));
	const own = projectDirectories(cwd).filter((directory) => directory === here);
	return [
		...global,
		...own.map((base): Place => {
			return { kind: "profile", scope: "project", directory: projectPlace(base, "profile"), base };
		}),
	];
}
