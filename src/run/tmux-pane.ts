import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { err, messageOf, ok, type Result } from "../domain/result.ts";

/** What a pane is opened for. */
export interface View {
	readonly runId: string;
	/** Must not hold a `#`: tmux expands it. */
	readonly title: string;
	/** The program that runs in it, as arguments: no shell sees them. */
	readonly command: readonly string[];
	/** Whether the pane stays when the program has ended. */
	readonly atEnd: "close" | "keep";
}

export interface Pane {
	/** Closes it, unless it is to be kept. One that is gone, or has become another's, is left alone. */
	close(): Promise<void>;
}

/** Together with waiting for its turn: a run does not wait longer for its pane. */
const OPEN_MS = 3_000;
const CLOSE_MS = 3_000;
/** What pi, or a view, keeps at least when it gives a part of its pane away. */
const MIN_COLUMNS = 50;
const MIN_ROWS = 8;
/** The option of ours that tells which pane shows which run, and for which pi. */
const MARK = "@pi-subagents";
const PANES = `#{pane_id} #{window_id} #{pane_width} #{pane_height} #{window_zoomed_flag} #{${MARK}}`;

/** Several commands of tmux, one after the other. Arguments are taken as they are; formats are expanded by some commands. */
type Tmux = (...commands: readonly (readonly string[])[]) => Promise<Result<string>>;

const execute = promisify(execFile);

function createTmux(environment: NodeJS.ProcessEnv, signal: AbortSignal): Tmux {
	return async (...commands) => {
		const args = commands.flatMap((command, index) => [...(index > 0 ? [";"] : []), ...command.map(literal)]);
		try {
			const { stdout } = await execute("tmux", args, { env: environment, signal, killSignal: "SIGKILL" });
			return ok(stdout.trim());
		} catch (error) {
			if (signal.aborted) return err("tmux does not answer");
			const { stderr } = error as { stderr?: string };
			return err(stderr?.trim() || messageOf(error));
		}
	};
}

/** An argument that ends in a semicolon would end the command. */
const literal = (argument: string) => argument.replace(/;$/, "\\;");

/** Why panes cannot be opened here, and what to do about it. */
export async function tmuxMissing(environment: NodeJS.ProcessEnv): Promise<string | undefined> {
	const version = await createTmux(environment, AbortSignal.timeout(OPEN_MS))(["-V"]);
	if (version.ok) return undefined;
	const reason = version.error.includes("ENOENT") ? "tmux was not found on PATH" : version.error;
	return `subagents.runner is "tmux", but ${reason}. Install tmux, or set subagents.runner to "process".`;
}

let turn: Promise<unknown> = Promise.resolve();

/**
 * Opens a pane in the session that this process runs in, else a session of its own, and leaves what is focused focused.
 * One at a time: where the next one goes depends on where the last one went.
 */
export async function openPane(view: View, environment: NodeJS.ProcessEnv): Promise<Result<Pane>> {
	const deadline = AbortSignal.timeout(OPEN_MS);
	const opened = turn.then(() => {
		const own = ownPaneOf(environment);
		return own === undefined
			? openDetached(view, environment, deadline)
			: openInSession(view, own, environment, deadline);
	});
	turn = opened;
	return await opened;
}

/** The pane that this process runs in, if the environment tells one. */
function ownPaneOf({ TMUX, TMUX_PANE }: NodeJS.ProcessEnv): string | undefined {
	return TMUX && TMUX_PANE && /^%\d+$/.test(TMUX_PANE) ? TMUX_PANE : undefined;
}

async function openInSession(
	view: View,
	own: string,
	environment: NodeJS.ProcessEnv,
	deadline: AbortSignal,
): Promise<Result<Pane>> {
	const tmux = createTmux(environment, deadline);
	const panes = await tmux(["list-panes", "-s", "-t", own, "-F", PANES]);
	if (!panes.ok) return deadline.aborted ? panes : await openDetached(view, environment, deadline); // an old $TMUX
	const places = parsePanes(panes.value);
	const ours = places.find(({ id }) => id === own);
	if (!ours) return err(`${own} is not a pane of this tmux`);
	const owner = own.slice(1);
	const room = roomAmong(places, ours, owner);
	const beside = room && (await create(tmux, room, view));
	const created = beside?.ok
		? beside
		: await create(tmux, ["new-window", "-a", "-t", ours.window, "-n", nameOf(view)], view);
	return created.ok ? await paneOf(tmux, created.value, `${owner}-${view.runId}`, view, environment) : created;
}

async function openDetached(
	view: View,
	{ TMUX: _, TMUX_PANE: __, ...environment }: NodeJS.ProcessEnv,
	deadline: AbortSignal,
): Promise<Result<Pane>> {
	const tmux = createTmux(environment, deadline);
	const session = `${nameOf(view)}-${view.runId}`;
	// Whoever has tmux end sessions that nobody looks at does not mean one that nobody could look at yet.
	const staying = ["set-option", "-t", `=${session}:`, "destroy-unattached", "off"];
	const created = await create(tmux, ["new-session", "-s", session], view, staying);
	return created.ok ? await paneOf(tmux, created.value, `-${view.runId}`, view, environment) : created;
}

const create = (tmux: Tmux, command: readonly string[], { command: program }: View, ...more: readonly string[][]) =>
	tmux([...command, "-d", "-P", "-F", "#{pane_id}", "--", ...program], ...more);

/** Names of windows and sessions are formats, and some characters mean something in a session's name. */
const nameOf = ({ title }: View) => `pi-${title.replace(/[^A-Za-z0-9_-]+/g, "-").slice(0, 40)}`;

interface Place {
	readonly id: string;
	readonly window: string;
	readonly width: number;
	readonly height: number;
	readonly zoomed: boolean;
	readonly mark: string;
}

function parsePanes(lines: string): Place[] {
	return lines.split("\n").map((line) => {
		const [id = "", window = "", width, height, zoomed, mark = ""] = line.split(" ");
		return { id, window, width: Number(width), height: Number(height), zoomed: zoomed === "1", mark };
	});
}

/** The command that splits a pane: the first view goes beside pi, the others share the tallest view's place. */
function roomAmong(panes: readonly Place[], ours: Place, owner: string): readonly string[] | undefined {
	const views = panes.filter(({ mark }) => mark.startsWith(`${owner}-`));
	const [tallest] = views.filter(({ zoomed }) => !zoomed).toSorted((a, b) => b.height - a.height);
	if (tallest && tallest.height > 2 * MIN_ROWS) return ["split-window", "-v", "-t", tallest.id];
	const wide = !ours.zoomed && ours.width > 2 * MIN_COLUMNS;
	return views.length === 0 && wide ? ["split-window", "-h", "-t", ours.id] : undefined;
}

async function paneOf(
	tmux: Tmux,
	id: string,
	mark: string,
	{ title, atEnd }: View,
	environment: NodeJS.ProcessEnv,
): Promise<Result<Pane>> {
	const prepared = await tmux(
		["set-option", "-p", "-t", id, MARK, mark],
		["set-option", "-p", "-t", id, "remain-on-exit", atEnd === "keep" ? "on" : "off"],
		["select-pane", "-t", id, "-T", title],
	);
	if (!prepared.ok) return prepared;
	return ok({
		async close() {
			if (atEnd === "keep") return;
			// Another server may have given the id to another pane since.
			const ours = ["if-shell", "-F", "-t", id, `#{==:#{${MARK}},${mark}}`, `kill-pane -t ${id}`];
			await createTmux(environment, AbortSignal.timeout(CLOSE_MS))(ours);
		},
	});
}
