import type { ExtensionCommandContext, RegisteredCommand } from "@earendil-works/pi-coding-agent";
import { type Catalog, describeDiagnostic } from "../definitions/catalog.ts";
import { callable, findDefinition, namesakes } from "../definitions/lookup.ts";
import { definitionDetails, definitionLine, NO_DEFINITIONS, problemsList } from "../present/definition-text.ts";
import { createProfile, deleteProfile, editProfile } from "./profile-changes.ts";
import { type ProfileHost, tell } from "./profile-host.ts";

const USAGE =
	"Usage: /profile [list] | show <name> | create <name> | edit <name> | delete <name> (also: ls, new, rm, remove, <name>)";

/** What a first word stands for; any other is a name. */
const VERBS: ReadonlyMap<string, "list" | "show" | "create" | "edit" | "delete"> = new Map([
	["", "list"],
	["list", "list"],
	["ls", "list"],
	["show", "show"],
	["create", "create"],
	["new", "create"],
	["edit", "edit"],
	["delete", "delete"],
	["rm", "delete"],
	["remove", "delete"],
]);

export function profileCommand(
	hostOf: (context: ExtensionCommandContext | undefined) => ProfileHost | undefined,
): Omit<RegisteredCommand, "name" | "sourceInfo"> {
	return {
		description: "List, show, create, edit and delete sub-agent profiles",
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
	const [name, ...more] = VERBS.has(word) ? names : [word, ...names];
	if (more.length > 0 || (verb === "list") === (name !== undefined)) return tell(context, USAGE, "warning");
	if (name === undefined) return tell(context, listText(host.catalog()), "info");
	if (verb === "create") return await createProfile(name, context, host);
	const found = findDefinition(host.catalog(), "profile", name);
	if (!found.ok) return tell(context, found.error.message, "error");
	if (verb === "edit") return await editProfile(found.value, context, host);
	if (verb === "delete") return await deleteProfile(found.value, context, host);
	return tell(context, definitionDetails(found.value), "info");
}

function listText(catalog: Catalog): string {
	const lines = callable(catalog, "profile").map((each) => definitionLine(each, namesakes(catalog, each)));
	const problems = catalog.diagnostics.map(describeDiagnostic);
	return [
		lines.length === 0 ? NO_DEFINITIONS : lines.join("\n"),
		...(problems.length === 0 ? [] : [problemsList(problems)]),
	].join("\n\n");
}

/** pi puts what is chosen in the place of all that was typed after the command. */
function completions(prefix: string, host: ProfileHost | undefined): { value: string; label: string }[] | null {
	const typed = prefix.trimStart();
	const space = typed.indexOf(" ");
	const word = space === -1 ? typed : typed.slice(0, space);
	const names = host ? callable(host.catalog(), "profile").map(({ name }) => name) : [];
	if (space === -1) {
		const verbs = ["list", "show", "create", "edit", "delete"].map((verb) => (verb === "list" ? verb : `${verb} `));
		const items = [...verbs, ...names].filter((item) => item.startsWith(word));
		return items.length > 0 ? items.map((value) => ({ value, label: value.trim() })) : null;
	}
	const verb = VERBS.get(word);
	if (verb !== "show" && verb !== "edit" && verb !== "delete") return null;
	const begun = typed.slice(space + 1).trimStart();
	const items = names.filter((name) => name.startsWith(begun));
	return items.length > 0 ? items.map((name) => ({ value: `${word} ${name}`, label: name })) : null;
}
