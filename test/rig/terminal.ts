import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { isAlive, waitGone, zombieStatus } from "./processes.ts";
import { PATIENCE_MS } from "./until.ts";

const run = promisify(execFile);
const POLL_MS = 50;
const CONFIGURATION = `
set -g status off
set -g remain-on-exit on
set -g remain-on-exit-format ""
set -g history-limit 5000
set -g default-terminal "tmux-256color"
set -sg escape-time 0
set -g extended-keys on
`;

export interface TerminalOptions {
	columns?: number;
	rows?: number;
	cwd?: string;
}

export interface Terminal {
	/** The process in the terminal. */
	pid: number;
	/** Keys by their tmux names: "Enter", "Escape", "C-o", "Up". */
	sendKeys(...keys: string[]): Promise<void>;
	/** Types text literally. */
	type(text: string): Promise<void>;
	/** As a person pastes it: bracketed, and every character as it is. */
	paste(text: string): Promise<void>;
	capture(options?: { ansi?: boolean; scrollback?: boolean }): Promise<string>;
	/** Gives the screen that matched; rejects with the last screen. */
	waitFor(wanted: string | RegExp, timeoutMs?: number): Promise<string>;
	/** Gives the first screen without it. */
	waitWhile(unwanted: string | RegExp, timeoutMs?: number): Promise<string>;
	waitForTitle(wanted: string | RegExp, timeoutMs?: number): Promise<string>;
	/** The exit code, or "signal N"; rejects when the process still runs after this time. */
	waitForExit(timeoutMs?: number): Promise<{ end: number | string }>;
	resize(columns: number, rows: number): Promise<void>;
	/** Ends this terminal's own tmux server and what runs in it. */
	dispose(): Promise<void>;
}

type Tmux = (...args: string[]) => Promise<string>;

/** Why there can be no terminal here; undefined when there can. */
export function terminalMissing(): string | undefined {
	try {
		execFileSync("tmux", ["-V"], { stdio: "ignore" });
		return undefined;
	} catch {
		return "tmux is not installed";
	}
}

let count = 0;

/** Starts a command in a terminal of its own; `env` is its whole environment. */
export async function startTerminal(
	command: string[],
	env: Record<string, string>,
	options: TerminalOptions = {},
): Promise<Terminal> {
	const directory = mkdtempSync(join(tmpdir(), "pi-subagents-tmux-"));
	const configuration = join(directory, "tmux.conf");
	writeFileSync(configuration, CONFIGURATION);
	count += 1;
	const socket = ["-L", `rig-${process.pid}-${count}`, "-f", configuration];
	const tmuxEnv = { ...env, TMUX_TMPDIR: directory };
	const tmux: Tmux = async (...args) => (await run("tmux", [...socket, ...args], { env: tmuxEnv })).stdout;
	const size = ["-x", String(options.columns ?? 100), "-y", String(options.rows ?? 30)];
	const place = options.cwd === undefined ? [] : ["-c", options.cwd];
	try {
		await tmux("new-session", "-d", "-s", "main", ...size, ...place, "--", ...command);
		const pid = Number(await tmux("display-message", "-p", "-t", "main", "#{pane_pid}"));
		return terminalOf(tmux, pid, directory);
	} catch (error) {
		await tmux("kill-server").catch(() => "");
		rmSync(directory, { recursive: true, force: true });
		throw error;
	}
}

function terminalOf(tmux: Tmux, pid: number, directory: string): Terminal {
	const capture: Terminal["capture"] = async (options = {}) => {
		const flags = [...(options.ansi ? ["-e", "-N"] : []), ...(options.scrollback ? ["-S", "-"] : [])];
		return (await tmux("capture-pane", "-p", "-t", "main", ...flags)).trimEnd();
	};
	const screen = () => capture();
	const title = () => tmux("display-message", "-p", "-t", "main", "#{pane_title}");
	return {
		pid,
		sendKeys: async (...keys) => void (await tmux("send-keys", "-t", "main", ...keys)),
		async paste(text) {
			const file = join(directory, "pasted");
			writeFileSync(file, text);
			await tmux("load-buffer", file);
			await tmux("paste-buffer", "-p", "-r", "-t", "main");
		},
		type: async (text) => void (await tmux("send-keys", "-t", "main", "-l", "--", text)),
		capture,
		waitFor: (wanted, timeoutMs = PATIENCE_MS) => poll(screen, (now) => matches(now, wanted), `${wanted}`, timeoutMs),
		waitWhile: (unwanted, timeoutMs = PATIENCE_MS) =>
			poll(screen, (now) => !matches(now, unwanted), `no more ${unwanted}`, timeoutMs),
		waitForTitle: (wanted, timeoutMs = PATIENCE_MS) =>
			poll(title, (now) => matches(now, wanted), `title ${wanted}`, timeoutMs),
		waitForExit: async (timeoutMs = PATIENCE_MS) => {
			const last = await poll(
				() => endOf(tmux, pid),
				(now) => now !== "",
				"the end of the process",
				timeoutMs,
			);
			return { end: /^\d+$/.test(last) ? Number(last) : last };
		},
		resize: async (columns, rows) =>
			void (await tmux("resize-window", "-t", "main", "-x", String(columns), "-y", String(rows))),
		dispose: () => dispose(tmux, pid, directory),
	};
}

async function endOf(tmux: Tmux, pid: number): Promise<string> {
	const format = "#{pane_dead_status}#{?pane_dead_signal,signal #{pane_dead_signal},}";
	const known = (await tmux("display-message", "-p", "-t", "main", format)).trim();
	if (known !== "") return known;
	// tmux sometimes misses that its child has ended; the child is then left as a zombie.
	const status = zombieStatus(pid);
	if (status === undefined) return "";
	return status & 0x7f ? `signal ${status & 0x7f}` : String(status >> 8);
}

async function dispose(tmux: Tmux, pid: number, directory: string): Promise<void> {
	await tmux("kill-server").catch(() => "");
	try {
		await waitGone(pid, 3_000);
	} catch {
		if (isAlive(pid)) process.kill(pid, "SIGKILL");
	}
	rmSync(directory, { recursive: true, force: true });
}

async function poll(
	look: () => Promise<string>,
	isRight: (now: string) => boolean,
	wanted: string,
	timeoutMs: number,
): Promise<string> {
	const deadline = performance.now() + timeoutMs;
	for (;;) {
		const now = await look();
		if (isRight(now)) return now;
		if (performance.now() > deadline) throw new Error(`Waited ${timeoutMs} ms for ${wanted}. Last seen:\n${now}`);
		await pause(POLL_MS);
	}
}

function matches(screen: string, wanted: string | RegExp): boolean {
	return typeof wanted === "string" ? screen.includes(wanted) : wanted.test(screen);
}
