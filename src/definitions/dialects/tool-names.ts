import { matchesTool } from "../../domain/tool-pattern.ts";

/** How other programs call the tools that pi has. Only tools that do no more in pi than under the other name. */
const SAME_TOOL: ReadonlyMap<string, string> = new Map([
	["read", "read"],
	["read_file", "read"],
	["write", "write"],
	["edit", "edit"],
	["multiedit", "edit"],
	["patch", "edit"],
	["apply_patch", "edit"],
	["bash", "bash"],
	["shell", "bash"],
	["run_command", "bash"],
	["powershell", "powershell"],
	["glob", "find"],
	["find", "find"],
	["grep", "grep"],
	["ls", "ls"],
	["list", "ls"],
	["list_dir", "ls"],
]);

/** Whether this is a tool that pi has, under pi's own name or another program's. */
export const isToolName = (name: string): boolean => SAME_TOOL.has(name.toLowerCase());

/**
 * What goes away with a tool that is denied, beside the tool of that name: tools that do the same, or that could be used
 * for it. Names that pi's extensions are known to use stand here too.
 */
const DENIED_WITH: ReadonlyMap<string, readonly string[]> = new Map([
	["bash", ["bash", "powershell"]],
	["shell", ["bash", "powershell"]],
	["notebookedit", ["edit", "write"]],
	["webfetch", ["webfetch", "web_fetch", "fetch", "fetch_url", "fetch_content"]],
	["websearch", ["websearch", "web_search", "search_web"]],
]);

/** The tools that change something, as far as pi has them. What plan and read-only mode take away. */
export const CHANGING_TOOLS: readonly string[] = ["edit", "write", "bash", "powershell"];

/** What pi has without any extension, but powershell, which nobody means by "all tools". */
export const BUILT_IN_TOOLS: readonly string[] = ["read", "bash", "edit", "write", "grep", "find", "ls"];

/** The name under which pi has the tool; a name that is not known here may be an extension's, and stays as it is. */
export const piToolOf = (name: string): string => SAME_TOOL.get(name.toLowerCase()) ?? name;

/** Every name that must go where this one is denied. */
export function deniedWith(name: string): readonly string[] {
	const known = DENIED_WITH.get(name.toLowerCase());
	return known === undefined ? [piToolOf(name)] : [...new Set([piToolOf(name), ...known])];
}

/** `Bash(git:*)`: the tool, and what it is limited to. */
export function scopeOf(entry: string): { readonly tool: string; readonly scope: string } | undefined {
	const match = /^([^()]+)\((.*)\)?$/s.exec(entry);
	return match ? { tool: match[1]?.trim() ?? "", scope: (match[2] ?? "").replace(/\)$/, "").trim() } : undefined;
}

/** Whether a name fits an entry of a list, which may have `*` in it. Case does not matter. */
export const fitsTool = (entry: string, name: string): boolean => matchesTool(entry.toLowerCase(), name.toLowerCase());
