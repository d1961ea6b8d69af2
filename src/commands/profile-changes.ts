import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { projectDirectories } from "../definitions/ancestors.ts";
import { originOf } from "../definitions/catalog.ts";
import { parseDefinition } from "../definitions/parse.ts";
import { DIRECTORY_NAMES, placesOf, projectPlace } from "../definitions/places.ts";
import {
	type Changes,
	createFile,
	deleteFile,
	renderChanged,
	renderDefinition,
	replaceFile,
} from "../definitions/write.ts";
import { type AgentDefinition, NAME_PATTERN, type Origin, type Scope } from "../domain/definition.ts";
import { err, messageOf, ok, type Result } from "../domain/result.ts";
import { definitionDetails, originWords } from "../present/definition-text.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import { readExample } from "./examples.ts";
import { type ProfileHost, tell } from "./profile-host.ts";
import { askFields } from "./profile-wizard.ts";

/** What a new profile is made from: questions, or a copy of an example. */
export type Template = { readonly kind: "questions" } | { readonly kind: "example"; readonly name: string };

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
	const known = host.catalog().kinds.profile.get(name);
	const sameScope = known && originOf(known).scope === place.scope;
	if (sameScope) return tell(context, `"${name}" exists: use /profile edit ${name}`, "error");
	const path = join(place.directory, `${name}.md`);
	const origin: Origin = { ...place, kind: "profile", path, base: place.base, trust: "trusted", shadows: false };
	const text = example
		? await renderChanged(example.value, { fields: new Map([["name", name]]), body: undefined })
		: ok(await renderDefinition(name, await askFields(context.ui, undefined)));
	if (!text.ok) return tell(context, `Nothing was saved: ${text.error}`, "error");
	await review(text.value, origin, context, host, () =>
		createFile(path, text.value, place.scope === "global" ? "private" : "shared"),
	);
}

/** Where the profile goes; undefined where nobody chose. A copy asks nothing else, so without anybody to ask it is global. */
async function choosePlace(
	name: string,
	template: Template,
	context: ExtensionCommandContext,
	{ agentDirectory }: ProfileHost,
): Promise<ProfilePlace | undefined> {
	const places = profilePlaces(context.cwd, agentDirectory);
	if (!context.hasUI) {
		if (template.kind === "example") return places[0];
		tell(context, needsPerson(`${places[0]?.directory}/${name}.md`), "error");
		return undefined;
	}
	const labels = places.map(({ scope, directory }) =>
		sanitizeLine(`${scope === "global" ? "Global" : "Project"} (${directory})`),
	);
	const chosen = await context.ui.select("Scope", labels);
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
	const changes = await askFields(context.ui, definition);
	const text = await changedText(origin.path, changes);
	if (!text.ok) return tell(context, `"${definition.name}" cannot be edited: ${text.error}`, "error");
	await review(text.value, origin, context, host, () => replaceFile(origin.path, text.value));
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
	context: ExtensionCommandContext,
	host: ProfileHost,
	save: () => Result<undefined>,
): Promise<void> {
	const parsed = parseDefinition(text, origin.kind);
	if (parsed.kind !== "definition") {
		const problems = parsed.kind === "rejected" ? parsed.problems : parsed.kind === "broken" ? [parsed.problem] : [];
		const reasons = problems.map(({ message }) => message).join("; ") || "it would not be a definition";
		return tell(context, `Nothing was saved: ${reasons}`, "error");
	}
	const definition = { ...parsed.definition, origin };
	const question = `Save ${originWords(origin)} "${definition.name}"?`;
	if (context.hasUI && !(await context.ui.confirm(question, definitionDetails(definition)))) {
		return tell(context, "Nothing was saved.", "info");
	}
	const saved = save();
	host.invalidate();
	if (!saved.ok) return tell(context, `Nothing was saved: ${saved.error}`, "error");
	tell(context, `Saved ${originWords(origin)} "${definition.name}": ${origin.path}`, "info");
}

export async function deleteProfile(
	{ name, origin }: AgentDefinition,
	context: ExtensionCommandContext,
	host: ProfileHost,
): Promise<void> {
	if (!context.hasUI) return tell(context, needsPerson(origin.path), "error");
	const question = `Delete the ${originWords(origin)} "${name}"?`;
	if (!(await context.ui.confirm(question, sanitizeLine(origin.path))))
		return tell(context, "Nothing was deleted.", "info");
	const deleted = deleteFile(origin.path);
	host.invalidate();
	if (!deleted.ok) return tell(context, `Nothing was deleted: ${deleted.error}`, "error");
	const next = host.catalog().kinds[origin.kind].get(name);
	const rest = next ? `. The ${originWords(originOf(next))} "${name}" counts now` : "";
	tell(context, `Deleted the ${origin.scope} ${origin.kind} "${name}": ${origin.path}${rest}`, "info");
}

const needsPerson = (path: string) => `This needs somebody to answer; without a terminal, change the file: ${path}`;

interface ProfilePlace {
	readonly scope: Scope;
	readonly directory: string;
	readonly base: string;
}

/** Where a new profile can be put: where it will be found from here. In the home directory there is no project. */
function profilePlaces(cwd: string, agentDirectory: string): ProfilePlace[] {
	const global: ProfilePlace = {
		scope: "global",
		directory: join(agentDirectory, DIRECTORY_NAMES.profile),
		base: agentDirectory,
	};
	const known = placesOf(cwd, agentDirectory).find(({ kind, scope }) => kind === "profile" && scope === "project");
	const base = known?.base ?? projectDirectories(cwd).find((directory) => directory === resolve(cwd));
	return base === undefined ? [global] : [global, { scope: "project", directory: projectPlace(base, "profile"), base }];
}
