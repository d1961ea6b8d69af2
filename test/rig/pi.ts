import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Home } from "./home.ts";
import { PATIENCE_MS } from "./until.ts";

export interface PiEvent {
	type: string;
	[field: string]: unknown;
}

export interface PiOptions {
	prompt?: string;
	/** More arguments; `--no-session` is added unless they speak of a session. */
	args?: string[];
	/** Given with `-e`. */
	extension?: string;
	/** In rpc mode stdin stays open: see `send` and `end`. */
	mode?: "json" | "rpc" | "text";
	/** Added to the home's environment. */
	env?: Record<string, string>;
	cwd?: string;
	/** pi is killed and `done` rejects after this time. */
	timeoutMs?: number;
}

export interface PiEnd {
	code: number | null;
	signal: NodeJS.Signals | null;
	events: PiEvent[];
	/** Lines on stdout that are not JSON objects. */
	stray: string[];
	stderr: string;
}

export interface PiRun {
	pid: number;
	/** Grows while pi runs. */
	events: PiEvent[];
	/** Also looks at the events that were seen already; rejects when pi ends or the time is over. */
	waitForEvent(predicate: (event: PiEvent) => boolean, timeoutMs?: number): Promise<PiEvent>;
	/** Writes one JSON line to stdin (rpc mode). */
	send(command: Record<string, unknown>): void;
	/** Closes stdin. */
	end(): void;
	kill(signal?: NodeJS.Signals): void;
	done: Promise<PiEnd>;
}

interface Watcher {
	see(event: PiEvent): void;
	ended(): void;
}

interface Output {
	events: PiEvent[];
	stray: string[];
	stderr: string;
	watchers: Set<Watcher>;
	ended: boolean;
}

/** Which of the installed packages is the pi that the tests run: `pi-latest` is the newest version, under an alias. */
const PI_PACKAGE = process.env.PI_UNDER_TEST || "@earendil-works/pi-coding-agent";
const PI_ROOT = new URL(`../../node_modules/${PI_PACKAGE}/`, import.meta.url);
const CLI = fileURLToPath(new URL("dist/bundle/cli.js", PI_ROOT));

/** The version of the pi that the tests run. */
export const PI_VERSION = versionOf(PI_ROOT);
/** Since pi 1.0 some of its own words differ, and it has MCP servers and codemode. */
export const PI_IS_1 = !PI_VERSION.startsWith("0.");

function versionOf(root: URL): string {
	const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { version: string };
	return version;
}

/** The command line that starts the real pi on the Node that runs the tests. */
export function piCommand(args: string[] = []): string[] {
	return [process.execPath, CLI, ...args];
}

export function runPi(home: Home, options: PiOptions = {}): PiRun {
	const mode = options.mode ?? "json";
	const [command = "", ...args] = piCommand(argumentsOf(options, mode));
	const env = { ...home.env, ...options.env };
	const child = spawn(command, args, { cwd: options.cwd ?? home.project, env, stdio: ["pipe", "pipe", "pipe"] });
	const output: Output = { events: [], stray: [], stderr: "", watchers: new Set(), ended: false };
	collect(child, output);
	const send = (value: Record<string, unknown>) => void child.stdin.write(`${JSON.stringify(value)}\n`);
	child.stdin.on("error", () => {});
	if (mode !== "rpc") child.stdin.end(options.prompt ?? "");
	else if (options.prompt !== undefined) send({ type: "prompt", message: options.prompt });
	const done = endOf(child, output, options.timeoutMs ?? 2 * PATIENCE_MS);
	done.catch(() => {});
	return {
		pid: child.pid ?? 0,
		events: output.events,
		waitForEvent: (predicate, timeoutMs = PATIENCE_MS) => waitForEvent(output, predicate, timeoutMs),
		send,
		end: () => void child.stdin.end(),
		kill: (signal = "SIGTERM") => void child.kill(signal),
		done,
	};
}

function argumentsOf(options: PiOptions, mode: "json" | "rpc" | "text"): string[] {
	const given = options.args ?? [];
	const speaksOfSession = given.some((one) => /^(--session|--no-session|--continue|--resume|--fork|-c|-r)/.test(one));
	return [
		...["--mode", mode],
		...(mode === "rpc" ? [] : ["-p"]),
		...(speaksOfSession ? [] : ["--no-session"]),
		...(options.extension === undefined ? [] : ["-e", options.extension]),
		...given,
	];
}

function collect(child: ChildProcess, output: Output): void {
	let rest = "";
	child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
		const lines = chunk.split("\n");
		lines[0] = rest + (lines[0] ?? "");
		rest = lines.pop() ?? "";
		for (const line of lines) takeLine(output, line);
	});
	child.stdout?.on("end", () => takeLine(output, rest));
	child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
		output.stderr += chunk;
	});
}

function takeLine(output: Output, line: string): void {
	if (line === "") return;
	const event = parseEvent(line);
	if (event === undefined) {
		output.stray.push(line);
		return;
	}
	output.events.push(event);
	for (const watcher of [...output.watchers]) watcher.see(event);
}

function parseEvent(line: string): PiEvent | undefined {
	try {
		const value: unknown = JSON.parse(line);
		return isEvent(value) ? value : undefined;
	} catch {
		return undefined;
	}
}

function isEvent(value: unknown): value is PiEvent {
	return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function endOf(child: ChildProcess, output: Output, timeoutMs: number): Promise<PiEnd> {
	return new Promise((resolve, reject) => {
		let timedOut = false;
		const timer = setTimeout(() => {
			timedOut = true;
			child.kill("SIGKILL");
			// A descendant that holds the pipes must not hold the test.
			child.stdout?.destroy();
			child.stderr?.destroy();
		}, timeoutMs);
		child.on("error", reject);
		child.on("close", (code, signal) => {
			clearTimeout(timer);
			output.ended = true;
			for (const watcher of [...output.watchers]) watcher.ended();
			const { events, stray, stderr } = output;
			if (timedOut) reject(new Error(`pi did not end within ${timeoutMs} ms. ${describeOutput(output)}`));
			else resolve({ code, signal, events, stray, stderr });
		});
	});
}

function waitForEvent(output: Output, predicate: (event: PiEvent) => boolean, timeoutMs: number): Promise<PiEvent> {
	const seen = output.events.find(predicate);
	if (seen) return Promise.resolve(seen);
	return new Promise((resolve, reject) => {
		const leave = () => {
			clearTimeout(timer);
			output.watchers.delete(watcher);
		};
		const fail = (why: string) => {
			leave();
			reject(new Error(`No such event of pi: ${why}. ${describeOutput(output)}`));
		};
		const watcher: Watcher = {
			see: (event) => {
				if (!predicate(event)) return;
				leave();
				resolve(event);
			},
			ended: () => fail("it has ended"),
		};
		const timer = setTimeout(() => fail(`${timeoutMs} ms are over`), timeoutMs);
		if (output.ended) watcher.ended();
		else output.watchers.add(watcher);
	});
}

function describeOutput(output: Output): string {
	const seen = output.events.slice(-12).map((event) => event.type);
	return `Last events: ${seen.join(", ") || "none"}. stderr: ${output.stderr.slice(-2_000) || "empty"}`;
}
