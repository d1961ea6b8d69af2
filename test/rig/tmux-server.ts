import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { isAlive, waitGone } from "./processes.ts";
import { PATIENCE_MS } from "./until.ts";

const run = promisify(execFile);
const POLL_MS = 30;

export interface TmuxPane {
	readonly id: string;
	readonly session: string;
	readonly window: string;
	readonly title: string;
	readonly width: number;
	readonly height: number;
	readonly focused: boolean;
	/** Its process. */
	readonly pid: number;
}

/** A tmux of its own, with one pane in which a pi could run. */
export interface TmuxServer {
	/** The pane that was there first. */
	readonly own: string;
	/** What a process in that pane would have in its environment. */
	readonly environment: Record<string, string>;
	readonly pid: number;
	tmux(...args: string[]): Promise<string>;
	panes(): Promise<TmuxPane[]>;
	/** All panes but the first, once there are so many. */
	others(count: number): Promise<TmuxPane[]>;
	/** What a pane shows, with its scrollback; rejects with the last screen. */
	waitFor(pane: string, wanted: string | RegExp): Promise<string>;
	screen(pane: string): Promise<string>;
	dispose(): Promise<void>;
}

export interface TmuxServerOptions {
	readonly columns?: number;
	readonly rows?: number;
	/** Lines of tmux.conf. */
	readonly configuration?: string;
	/** What runs in the first pane, where, and with what environment. */
	readonly command?: readonly string[];
	readonly cwd?: string;
	readonly environment?: Record<string, string>;
	/** Where the socket of an earlier server was. */
	readonly directory?: string;
}

export async function startTmuxServer(options: TmuxServerOptions = {}): Promise<TmuxServer> {
	const directory = options.directory ?? mkdtempSync(join(tmpdir(), "pi-tmux-"));
	const configuration = join(directory, "tmux.conf");
	writeFileSync(configuration, options.configuration ?? "");
	const { PATH = "", HOME = "" } = process.env;
	const base = { PATH, HOME, LANG: "C.UTF-8", TERM: "xterm-256color", ...options.environment, TMUX_TMPDIR: directory };
	const server = ["-L", "rig", "-f", configuration];
	const tmux = async (...args: string[]) => (await run("tmux", [...server, ...args], { env: base })).stdout.trimEnd();
	const size = ["-x", String(options.columns ?? 160), "-y", String(options.rows ?? 50)];
	const place = options.cwd === undefined ? [] : ["-c", options.cwd];
	const command = options.command ?? ["sleep", "600"];
	await tmux("new-session", "-d", "-s", "main", ...size, ...place, "--", ...command);
	const [own = "", path = "", pid = ""] = (
		await tmux("display-message", "-p", "#{pane_id} #{socket_path} #{pid}")
	).split(" ");
	const panes = () => panesOf(tmux);
	const screen = (pane: string) => tmux("capture-pane", "-p", "-J", "-S", "-", "-t", pane);
	return {
		own,
		environment: { ...base, TMUX: `${path},${pid},0`, TMUX_PANE: own },
		pid: Number(pid),
		tmux,
		panes,
		screen,
		others: (count) =>
			until(
				async () => (await panes()).filter(({ id }) => id !== own),
				(found) => found.length === count,
				`${count} panes`,
			),
		waitFor: (pane, wanted) =>
			until(
				() => screen(pane),
				(now) => (typeof wanted === "string" ? now.includes(wanted) : wanted.test(now)),
				`${wanted}`,
			),
		async dispose() {
			await tmux("kill-server").catch(() => "");
			if (isAlive(Number(pid))) await waitGone(Number(pid));
			rmSync(directory, { recursive: true, force: true });
		},
	};
}

const FORMAT = [
	...["pane_id", "session_name", "window_name", "pane_title", "pane_width", "pane_height", "pane_pid"],
	"?#{&&:#{pane_active},#{window_active}},1,0",
]
	.map((name) => `#{${name}}`)
	.join("\n");

/** Every pane of a server; none where there is no server. */
export async function panesOf(tmux: (...args: string[]) => Promise<string>): Promise<TmuxPane[]> {
	const lines = (await tmux("list-panes", "-a", "-F", FORMAT).catch(() => "")).split("\n");
	return Array.from({ length: Math.floor(lines.length / 8) }, (_, index) => {
		const [id = "", session = "", window = "", title = "", width, height, pid, focused] = lines.slice(index * 8);
		return {
			...{ id, session, window, title },
			width: Number(width),
			height: Number(height),
			focused: focused === "1",
			pid: Number(pid),
		};
	});
}

/** Looks until it is right; rejects with what was seen last. */
export async function until<T>(
	look: () => Promise<T>,
	isRight: (now: T) => boolean,
	wanted: string,
	timeoutMs = PATIENCE_MS,
): Promise<T> {
	const deadline = performance.now() + timeoutMs;
	for (;;) {
		const now = await look();
		if (isRight(now)) return now;
		if (performance.now() > deadline) {
			throw new Error(`Waited ${timeoutMs} ms for ${wanted}. Last seen: ${JSON.stringify(now, undefined, 1)}`);
		}
		await pause(POLL_MS);
	}
}
