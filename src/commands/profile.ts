import type { ExtensionCommandContext, RegisteredCommand } from "@earendil-works/pi-coding-agent";
import { describeDiagnostic } from "../definitions/catalog.ts";
import { callable, findDefinition, findEntry, notOffered } from "../definitions/lookup.ts";
import { type Entry, originOf } from "../definitions/read-place.ts";
import { isForeignSource } from "../domain/definition.ts";
import { definitionDetails, listedLine, NO_DEFINITIONS, problemsList } from "../present/definition-text.ts";
import { exampleNames } from "./examples.ts";
import { createProfile, deleteProfile, editProfile, howToMend, importProfile } from "./profile-changes.ts";
import { type ProfileHost, tell } from "./profile-host.ts";

const USAGE =
	"Usage: /profile [list] | show <name> | create <name> [--from <example>] | import <name> | edit <name> | delete <name> (also: ls, new, rm, remove, <name>)";

type Verb = "list" | "show" | "create" | "import" | "edit" | "delete";

/** What a first word stands for; any other is a name. */
const VERBS: ReadonlyMap<string, Verb> = new Map([
	["", "list"],
	["list", "list"],
	["ls", "list"],
	["show", "show"],
	["create", "create"],
	["new", "create"],
	["import", "import"],
	["edit", "edit"],
	["delete", "delete"],
	["rm", "delete"],
	["remove", "delete"],
]);

export function profileCommand(
	hostOf: (context: ExtensionCommandContext | undefined) => ProfileHost | undefined,
): Omit<RegisteredCommand, "name" | "sourceInfo"> {
	return {
		description: "List, show, create, import, edit and delete sub-agent profiles",
		getArgumentCompletions: (prefix) => completions(prefix, hostOf(undefined)),
		async handler(args, context) {
			const host = hostOf(context);
			if (host) await answer(args, context, host);
		},
	};
}

async function answer(args: string, context: ExtensionCommandContext, host: ProfileHost): Promise<void> {
	const [word = "", ...names] = args.trim().split(/\s+/);
	const verb = VERBS.get(word) ?? "show";
	if (verb === "create") return await create(names, context, host);
	const [name, ...more] = VERBS.has(word) ? names : [word, ...names];
	if ((verb === "list") === (name !== undefined)) return tell(context, USAGE, "warning");
	if (name === undefined) return tell(context, listText(host), "info");
	// A name as a foreign file writes it may have spaces.
	const entry = findEntry(host.catalog(), "profile", [name, ...more].join(" "));
	if (entry) return await act(verb, entry, context, host);
	if (more.length > 0) return tell(context, USAGE, "warning");
	const found = findDefinition(host.catalog(), "profile", name);
	if (!found.ok) tell(context, found.error.message, "error");
}

async function act(verb: Verb, entry: Entry, context: ExtensionCommandContext, host: ProfileHost): Promise<void> {
	const { kind, path } = originOf(entry);
	if (verb === "import") return await importProfile(entry, context, host);
	if ((verb === "edit" || verb === "delete") && isForeignSource(kind)) {
		const how = `change it there, or use /profile import ${entry.name}`;
		return tell(context, `"${entry.name}" is a file of another program, ${path}: ${how}`, "error");
	}
	if (verb === "delete") return await deleteProfile(entry, context, host);
	if (entry.kind !== "usable") {
		return tell(context, `The ${kind} "${entry.name}" cannot be used: ${howToMend(entry)}`, "error");
	}
	if (verb === "edit") return await editProfile(entry.definition, context, host);
	return tell(context, definitionDetails(entry.definition), "info");
}

const FROM = "--from";

async function create(words: readonly string[], context: ExtensionCommandContext, host: ProfileHost): Promise<void> {
	const [name, flag, example, ...more] = words;
	if (name === undefined || name === FROM || more.length > 0) return tell(context, USAGE, "warning");
	if (flag === undefined) return await createProfile(name, { kind: "questions" }, context, host);
	if (flag !== FROM) return tell(context, USAGE, "warning");
	if (example === undefined) return tell(context, `${FROM} takes one of: ${exampleNames().join(", ")}`, "warning");
	return await createProfile(name, { kind: "example", name: example }, context, host);
}

function listText(host: ProfileHost): string {
	const catalog = host.catalog();
	const lines = host.list().map(listedLine);
	const problems = [...catalog.diagnostics, ...catalog.warnings].map(describeDiagnostic);
	const others = notOffered(catalog);
	return [
		lines.length === 0 ? NO_DEFINITIONS : lines.join("\n"),
		...(others.length === 0 ? [] : [`Not offered as sub-agents: ${others.map(({ name }) => name).join(", ")}`]),
		...(problems.length === 0 ? [] : [problemsList(problems)]),
	].join("\n\n");
}

/** pi puts what is chosen in the place of all that was typed after the command. */
function completions(prefix: string, host: ProfileHost | undefined): { value: string; label: string }[] | null {
	const typed = prefix.trimStart();
	const items = offers(typed, host).filter(({ value }) => value.startsWith(typed));
	// Enter would choose what is there already instead of sending it.
	return items.length === 0 || items.some(({ value }) => value === typed) ? null : items;
}

function offers(typed: string, host: ProfileHost | undefined): { value: string; label: string }[] {
	const names = host ? callable(host.catalog(), "profile").map(({ name }) => name) : [];
	const words = typed.split(/\s+/);
	const [word = "", name = ""] = words;
	if (words.length === 1) {
		return [...["list", "show ", "create ", "import ", "edit ", "delete "], ...names].map((value) => ({
			value,
			label: value.trim(),
		}));
	}
	const verb = VERBS.get(word);
	if (verb === "show" || verb === "edit" || verb === "delete" || verb === "import") {
		return names.map((each) => ({ value: `${word} ${each}`, label: each }));
	}
	if (verb !== "create" || words.length < 3) return [];
	return exampleNames().map((each) => ({ value: `${word} ${name} ${FROM} ${each}`, label: `${FROM} ${each}` }));
}
