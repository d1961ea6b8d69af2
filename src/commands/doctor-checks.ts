import { accessSync, constants, existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { socketPathOf } from "../child/protocol.ts";
import { scriptPath } from "../child/scripts.ts";
import { type Catalog, describeDiagnostic, HOW_TO_TRUST } from "../definitions/catalog.ts";
import { callable, countingEntry, uncallable, whatIsWrong } from "../definitions/lookup.ts";
import { placesOf } from "../definitions/places.ts";
import type { Trust } from "../definitions/trust.ts";
import { DEFINITION_KINDS, isForeignSource } from "../domain/definition.ts";
import { FAMILIES, FAMILY_TOOLS } from "../domain/package-tools.ts";
import { describeFeatures, isBefore, MIN_PI } from "../domain/pi-version.ts";
import { messageOf } from "../domain/result.ts";
import { isPrivate } from "../files/private.ts";
import type { Finding } from "../present/doctor-text.ts";
import { tmuxMissing } from "../run/tmux-pane.ts";
import { homeRunsOf, projectRunsOf, type RunPlaces } from "../run-directory/places.ts";
import type { LoadedSettings, Settings } from "../settings/settings.ts";

const MIN_NODE = [22, 19] as const;

export function checkVersions(pi: string, node: string): Finding {
	const title = `pi ${pi} on Node ${node}`;
	const problems = [
		...(isBefore(node, MIN_NODE)
			? [`Node ${MIN_NODE.join(".")} or later is needed: install it, and start pi with it.`]
			: []),
		...(isBefore(pi, MIN_PI) ? [`pi ${MIN_PI.slice(0, 2).join(".")} or later is needed: update pi.`] : []),
		...(existsSync(scriptPath("supervisor"))
			? []
			: ["This package is incomplete: install it again, or run `npm run build` in its directory."]),
	];
	if (problems.length > 0) return { level: "problem", title, lines: problems };
	return { level: "fine", title, lines: [describeFeatures(pi)] };
}

export interface ModelState {
	/** Those that a sub-agent can be given. */
	readonly usable: number;
	/** `provider/id` of the session's own. */
	readonly current: string | undefined;
	/** What pi says about models.json. */
	readonly error: string | undefined;
}

export function checkModels({ usable, current, error }: ModelState): Finding {
	const broken = error === undefined ? [] : [`pi could not read all of its models: ${error}`];
	if (usable === 0) {
		const lines = [
			"pi has no key for any provider. Use /login, or set a provider's key in the environment before you start pi.",
			"Until then there is no subagent and no background_agent.",
		];
		return { level: "problem", title: "Models: none", lines: [...lines, ...broken] };
	}
	const chosen = current === undefined ? ["This session has no model: choose one with /model."] : [];
	return {
		level: chosen.length > 0 ? "problem" : broken.length > 0 ? "note" : "fine",
		title: `Models: ${usable} to choose from, ${current ?? "none"} in use`,
		lines: [...chosen, ...broken],
	};
}

const MAX_UNUSABLE = 20;

export function checkDefinitions(catalog: Catalog): Finding {
	const { entries, diagnostics } = catalog;
	const usable = DEFINITION_KINDS.map((kind) => {
		const count = [...entries.keys()].filter((name) => countingEntry(catalog, kind, name)?.kind === "usable").length;
		return `${count} ${kind}${count === 1 ? "" : "s"}`;
	});
	const foreign = callable(catalog, "profile").filter(({ origin }) => isForeignSource(origin.kind)).length;
	const unusable = uncallable(catalog).filter(
		({ kind, origin }) => kind === "rejected" && isForeignSource(origin.kind),
	);
	const title = `Definitions: ${usable.join(", ")}${foreign === 0 ? "" : `, ${foreign} of other programs`}`;
	const lines = [
		...diagnostics.map(describeDiagnostic),
		...unusable.slice(0, MAX_UNUSABLE).map((entry) => `"${entry.name}" cannot be called: ${whatIsWrong(entry)}`),
		...(unusable.length > MAX_UNUSABLE
			? [`${unusable.length - MAX_UNUSABLE} more cannot be called: /profile list`]
			: []),
	];
	if (lines.length > 0) return { level: diagnostics.length > 0 ? "problem" : "note", title, lines };
	if (callable(catalog, "profile").length > 0) return { level: "fine", title, lines: [] };
	const hint = ["None is needed to delegate. To get one: /profile create scout --from scout"];
	return { level: "fine", title: "Definitions: none", lines: hint };
}

/** Only a project that brings something of its own can be short of trust. */
export function checkTrust(trust: Trust, cwd: string, agentDirectory: string): Finding {
	const brings =
		placesOf(cwd, agentDirectory).some(({ scope }) => scope === "project") ||
		existsSync(join(cwd, ".pi", "settings.json"));
	if (!brings || trust === "trusted") {
		const title = brings ? "Trust: this project is trusted" : "Trust: this project brings nothing of its own";
		return { level: "fine", title, lines: [] };
	}
	if (trust === "refused") {
		const lines = [`Its definitions and settings are left out (${HOW_TO_TRUST}).`];
		return { level: "note", title: "Trust: this project is not trusted", lines };
	}
	const lines = [`Its definitions count, but not their extensions, extraArgs and apiKey (${HOW_TO_TRUST}).`];
	return { level: "fine", title: "Trust: nobody has decided about this project", lines };
}

/** `active`: the tools that the session's model has. */
export function checkSettings(
	{ settings, warnings }: LoadedSettings,
	active: readonly string[],
	{ usable }: ModelState,
): Finding {
	const { families } = settings;
	const off = FAMILIES.filter((family) => !families.includes(family));
	const there = families.filter((family) => family === "delegate" || usable > 0);
	const missing = there.flatMap((family) => FAMILY_TOOLS[family]).filter((name) => !active.includes(name));
	const lines = [
		...warnings,
		...(off.length === 0 ? [] : [`Switched off by subagents.families: ${off.join(", ")}`]),
		...(missing.length === 0
			? []
			: [`Left out of this session, by --tools or by another extension: ${missing.join(", ")}`]),
	];
	const level = warnings.length > 0 ? "problem" : lines.length > 0 ? "note" : "fine";
	return { level, title: level === "fine" ? "Settings: in order" : "Settings", lines };
}

export async function checkTmux({ runner }: Settings, environment: NodeJS.ProcessEnv): Promise<Finding> {
	if (runner !== "tmux") return { level: "fine", title: 'tmux: not needed (runner is "process")', lines: [] };
	const missing = await tmuxMissing(environment);
	if (missing === undefined) return { level: "fine", title: "tmux: found", lines: [] };
	return { level: "problem", title: "tmux", lines: [missing] };
}

/** Looks whether a run could have a tree of its own, where somebody asks for one. */
export async function checkIsolation(
	{ settings }: LoadedSettings,
	catalog: Catalog,
	{ cwd, agentDirectory }: RunPlaces,
): Promise<readonly Finding[]> {
	const askers = callable(catalog, "profile").filter(({ isolation }) => isolation === "worktree");
	if (settings.isolation !== "worktree" && askers.length === 0) return [];
	const { whyNoTree } = await import("../tree/parent-side.ts");
	const why = await whyNoTree(cwd, agentDirectory);
	if (why === undefined) return [{ level: "fine", title: "Isolation: runs can have a tree of their own", lines: [] }];
	const who = [
		...(settings.isolation === "worktree" ? ["your settings"] : []),
		...askers.slice(0, MAX_UNUSABLE).map(({ name }) => `"${name}"`),
	];
	const lines = [
		`${why}.`,
		`Asked for by ${who.join(", ")}: these runs fail before a model is asked.`,
		"It needs Linux, bubblewrap, util-linux, user namespaces and overlayfs, and a project that is not your home.",
	];
	return [{ level: "problem", title: 'Isolation: "worktree" is not available here', lines }];
}

/** Nobody deletes them but the person. */
export async function checkBranches(cwd: string): Promise<readonly Finding[]> {
	const { runBranches } = await import("../tree/parent-side.ts");
	const branches = await runBranches(cwd);
	if (branches.length === 0) return [];
	const count = branches.length === 1 ? "1 branch" : `${branches.length} branches`;
	const rest = branches.length - MAX_UNUSABLE;
	const lines = [
		...branches.slice(0, MAX_UNUSABLE),
		...(rest > 0 ? [`and ${rest} more`] : []),
		"To delete one: /subagents discard <run id>, or git branch -D <branch>.",
	];
	return [{ level: "fine", title: `Changes of sub-agents: ${count}`, lines }];
}

export function checkDirectories({ cwd, agentDirectory, runsIn }: RunPlaces): Finding {
	const home = homeRunsOf({ cwd, agentDirectory });
	const inProject = projectRunsOf(cwd);
	const project = whyNotWritable(inProject);
	const agent = whyNotWritable(home);
	const [first, second, instead] = runsIn === "home" ? [agent, project, inProject] : [project, agent, home];
	const sessions = whyNotWritable(join(homedir(), ".pi", "subagent-sessions"));
	const sockets = whyNoSockets(dirname(socketPathOf("run")));
	const problems = [
		...(agent === undefined ? [] : [`Definitions cannot be saved: ${agent}`]),
		...(first === undefined || second === undefined ? [] : [`Runs cannot be kept: ${first}; ${second}`]),
		...(sessions === undefined ? [] : [`Agents cannot remember their sessions: ${sessions}`]),
		...(sockets === undefined ? [] : [`No run can be started: ${sockets}`]),
	];
	const notes = first === undefined || second !== undefined ? [] : [`Runs are kept in ${instead}: ${first}`];
	const level = problems.length > 0 ? "problem" : notes.length > 0 ? "note" : "fine";
	const title = level === "fine" ? "Directories: can be written" : "Directories";
	return { level, title, lines: [...problems, ...notes] };
}

/** Whether a directory is there and can be written, or could be made. Makes nothing. */
function whyNotWritable(directory: string): string | undefined {
	try {
		const stat = statSync(directory, { throwIfNoEntry: false });
		if (stat === undefined)
			return directory === dirname(directory) ? "no such directory" : whyNotWritable(dirname(directory));
		if (!stat.isDirectory()) return `${directory} is not a directory`;
		accessSync(directory, constants.W_OK | constants.X_OK);
		return undefined;
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "ENOTDIR") return whyNotWritable(dirname(directory));
		return `${directory} cannot be written (${code ?? messageOf(error)})`;
	}
}

function whyNoSockets(directory: string): string | undefined {
	if (process.platform === "win32") return undefined;
	if (!isPrivate(directory)) {
		return `${directory} must be a directory of yours with mode 0700: remove it, or run chmod 700`;
	}
	return whyNotWritable(directory);
}
