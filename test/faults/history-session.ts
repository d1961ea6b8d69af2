import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ToolOutcome, toolOutcomes } from "../rig/delegation.ts";
import type { Home } from "../rig/home.ts";
import { type Reply, type ScriptedCall, text, toolCalls } from "../rig/model-server.ts";
import { type PiRun, runPi } from "../rig/pi.ts";
import { processesWithEnv, waitNoneWithEnv } from "../rig/processes.ts";

/** What a task of a history does. `late` takes its time, `slow` goes on until something ends it. */
export type Kind = "fine" | "late" | "refused" | "crash" | "slow";

/** One thing that happens. What cannot happen at that moment is passed over. */
export type Step =
	| { readonly do: "delegate"; readonly kinds: readonly Kind[] }
	| { readonly do: "resume"; readonly which: number; readonly kind: Kind }
	/** Starts an agent in the background and goes on: it may end whenever it likes, also while no pi is there. */
	| { readonly do: "background"; readonly kind: "fine" | "late" | "refused" }
	| {
			readonly do:
				| "abort"
				| "kill-parent"
				| "kill-supervisor"
				| "kill-child"
				| "restart"
				| "reload"
				| "block"
				| "unblock";
	  };

/** What must be known of a sub-agent's session in the end. */
interface Expected {
	status: "completed" | "error";
	/** Exactly this; for a run that was ended by force, what had been seen of it. */
	text: string;
	runs: number;
}

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const COMMANDS = fileURLToPath(new URL("../rig/fixtures/lifecycle-commands.ts", import.meta.url));
/** In the environment of everything that a session has started. */
const MARKER = "RIG_SESSION";

/** One session of a history, with a real pi and real children: what must be true of it afterwards. */
export class Session {
	readonly #home: Home;
	readonly #name: string;
	/** The background runs of all sessions of the project. */
	readonly #everybodys: Set<string>;
	readonly #expected = new Map<string, Expected>();
	#parent: PiRun | undefined;
	#waiting: ScriptedCall[] = [];
	/** Sessions of the call that is going on. */
	#running: string[] = [];
	#prompts = 0;
	readonly #background = new Set<string>();

	constructor(home: Home, name: string, everybodys: Set<string>) {
		this.#home = home;
		this.#name = name;
		this.#everybodys = everybodys;
	}

	/** Its words in a prompt, by which its requests are told from those of others. */
	get prompt(): string {
		return `go on with ${this.#name}`;
	}

	/** Whatever happens: nothing of it goes on. */
	dispose(): void {
		this.#parent?.kill("SIGKILL");
	}

	async step(step: Step): Promise<void> {
		if (step.do === "kill-parent") return await this.#stopParent("SIGKILL");
		if (step.do === "restart") return await this.#stopParent("SIGTERM");
		return this.#running.length > 0 ? await this.#whileRunning(step) : await this.#whileIdle(step);
	}

	async #whileRunning(step: Step): Promise<void> {
		if (step.do === "abort") await this.#endCall((parent) => parent.send({ type: "abort" }));
		if (step.do === "kill-supervisor") await this.#endCall(() => this.#killOne(/^pi-subagents /));
		if (step.do === "kill-child") await this.#endCall(() => this.#killOne(/^pi$/));
	}

	async #whileIdle(step: Step): Promise<void> {
		if (step.do === "delegate") await this.#delegate(step.kinds.map((kind) => this.#task(kind)));
		if (step.do === "resume") {
			const ids = [...this.#expected.keys()].filter((id) => !this.#background.has(id));
			const resume = ids[step.which % Math.max(1, ids.length)];
			if (resume !== undefined) await this.#delegate([{ ...this.#task(step.kind), resume }]);
		}
		if (step.do === "background") await this.#startBackground(this.#task(step.kind));
		if (step.do === "reload") await this.#tell({ type: "prompt", message: "/reload-now" });
		if (step.do === "block" || step.do === "unblock") this.#block(step.do === "block");
	}

	get #file(): string {
		return join(this.#home.root, `${this.#name}.jsonl`);
	}

	#lines(): string[] {
		return existsSync(this.#file) ? readFileSync(this.#file, "utf8").split("\n") : [];
	}

	#task(kind: Kind): { name: string; prompt: string } {
		return { name: kind, prompt: `${kind} ${this.#prompts++} of ${this.#name}` };
	}

	#alive(): PiRun {
		this.#parent ??= runPi(this.#home, {
			mode: "rpc",
			extension: EXTENSION,
			args: ["-e", COMMANDS, "--session", this.#file],
			env: { [MARKER]: this.#file },
			timeoutMs: 120_000,
		});
		return this.#parent;
	}

	/** Starts a call; with a slow task among them it goes on until a later step ends it. */
	async #delegate(tasks: { name: string; prompt: string; resume?: string }[]): Promise<void> {
		const parent = this.#alive();
		const from = parent.events.length;
		this.#waiting = [{ name: "delegate_to_subagents", args: { tasks } }];
		parent.send({ type: "prompt", message: this.prompt });
		const slow = tasks.filter(({ name }) => name === "slow");
		if (slow.length === 0) return this.#account(tasks, await this.#result(parent, from));
		// Everything else has ended, and each slow one has said its first words.
		const others = tasks.length - slow.length;
		const update = await parent.waitForEvent((event) => {
			if (parent.events.indexOf(event) < from || event.type !== "tool_execution_update") return false;
			const { windows } = (event.partialResult as { details: { windows: { status: string }[] } }).details;
			const seen = JSON.stringify(event);
			return (
				slow.every(({ prompt }) => seen.includes(`half of ${prompt}`)) &&
				windows.filter((window) => window.status !== "running").length === others
			);
		}, 30_000);
		const { sessionIds } = (update.partialResult as { details: { sessionIds: string[] } }).details;
		this.#running = sessionIds;
		for (const [index, task] of tasks.entries()) this.#expect(sessionIds[index] ?? "", task);
	}

	async #startBackground(task: { name: string; prompt: string }): Promise<void> {
		const parent = this.#alive();
		const from = parent.events.length;
		this.#waiting = [{ name: "background_agent", args: { preset: "worker", task: task.prompt } }];
		parent.send({ type: "prompt", message: this.prompt });
		const started = await this.#result(parent, from);
		const runId = /\(run: ([0-9a-f-]+),/.exec(started.text)?.[1];
		assert.ok(runId, started.text);
		this.#background.add(runId);
		this.#everybodys.add(runId);
		this.#expect(runId, task);
	}

	async #result(parent: PiRun, from: number): Promise<ToolOutcome> {
		await parent.waitForEvent(
			(event) => event.type === "agent_settled" && parent.events.indexOf(event) >= from,
			30_000,
		);
		const result = toolOutcomes(parent.events.slice(from)).at(-1);
		assert.ok(result, "the call has a result");
		return result;
	}

	#account(tasks: { name: string; prompt: string }[], { text: lines }: ToolOutcome): void {
		for (const [index, line] of lines.split("\n").entries()) {
			const task = tasks[index];
			const id = /\(session: ([0-9a-f]{16})\)/.exec(line)?.[1];
			assert.ok(task && id, lines);
			assert.equal(line.startsWith("✓"), task.name === "fine", line);
			this.#expect(id, task);
		}
	}

	#expect(id: string, { name, prompt }: { name: string; prompt: string }): void {
		const runs = (this.#expected.get(id)?.runs ?? 0) + 1;
		const said = {
			fine: `answer to ${prompt}`,
			late: `answer to ${prompt}`,
			slow: `half of ${prompt}`,
			refused: "",
			crash: "",
		}[name as Kind];
		this.#expected.set(id, { status: name === "fine" || name === "late" ? "completed" : "error", text: said, runs });
	}

	async #endCall(act: (parent: PiRun) => void): Promise<void> {
		const parent = this.#alive();
		const from = parent.events.length;
		act(parent);
		// A kill ends one of them; the others are slow for ever.
		if (processesWithEnv(MARKER, this.#file).length > 0) parent.send({ type: "abort" });
		await this.#result(parent, from);
		this.#running = [];
	}

	#killOne(wanted: RegExp): void {
		const background = new Set(
			[...this.#background].flatMap((runId) => [
				...processesWithEnv("PI_SUBAGENTS_RUN_ID", runId).map(({ pid }) => pid),
				...processesWithEnv(MARKER, this.#file).flatMap(({ pid, command }) => (command.includes(runId) ? [pid] : [])),
			]),
		);
		const [victim] = processesWithEnv(MARKER, this.#file).filter(
			({ pid, command }) => wanted.test(command.trim()) && pid !== this.#parent?.pid && !background.has(pid),
		);
		if (victim) process.kill(victim.pid, "SIGKILL");
	}

	async #stopParent(signal: NodeJS.Signals): Promise<void> {
		if (!this.#parent) return;
		this.#parent.kill(signal);
		await this.#parent.done;
		this.#parent = undefined;
		this.#running = [];
		await waitNoneWithEnv(MARKER, this.#file);
	}

	async #tell(command: Record<string, unknown>): Promise<void> {
		const parent = this.#alive();
		const id = `command-${this.#prompts++}`;
		parent.send({ ...command, id });
		await parent.waitForEvent((event) => event.type === "response" && event.id === id);
	}

	/** A project in which nothing can be written, as on a disk that is full or read-only. */
	#block(blocked: boolean): void {
		const runs = join(this.#home.project, ".pi", "subagents", "runs");
		const hidden = `${runs}.hidden`;
		// A result that cannot be written, and that nobody listens to at that moment, is nowhere: not this test's subject.
		const unfinished = [...this.#everybodys].some((runId) => !existsSync(join(runs, runId, "result.json")));
		if (blocked && !unfinished && existsSync(runs) && !existsSync(hidden)) {
			renameSync(runs, hidden);
			writeFileSync(runs, "");
		}
		if (!blocked && existsSync(hidden)) {
			rmSync(runs);
			renameSync(hidden, runs);
		}
	}

	reply(): Reply {
		const calls = this.#waiting;
		this.#waiting = [];
		return calls.length > 0 ? toolCalls(calls) : text("the parent is done");
	}

	/** After everything, in a pi that has just started: one end for each run, nothing lost, nothing left. */
	async check(): Promise<void> {
		await this.#stopParent("SIGTERM");
		this.#block(false);
		for (const [id, expected] of this.#expected) {
			const parent = this.#alive();
			const from = parent.events.length;
			this.#waiting = [{ name: "get_subagent_output", args: { sessionId: id } }];
			parent.send({ type: "prompt", message: this.prompt });
			const found = await this.#result(parent, from);
			const details = found.details as { status: string; runCount: number };
			assert.deepEqual(
				{ status: details.status, text: found.text, runs: details.runCount },
				{ ...expected, text: expected.text || "(no text output from sub-agent)" },
			);
		}
		await this.#stopParent("SIGTERM");
		this.#checkMessages();
		this.#checkEntries();
	}

	/** Each end in the background was announced to its own session, by one message and one entry, and to no other. */
	#checkMessages(): void {
		const lines = this.#lines();
		for (const runId of this.#everybodys) {
			const told = (type: string) => lines.filter((line) => line.includes(`"${type}"`) && line.includes(runId)).length;
			const times = this.#background.has(runId) ? 1 : 0;
			assert.deepEqual(
				["pi-subagents:bg-run", "pi-subagents:bg-completed", "pi-subagents:bg-update"].map(told),
				[times, times, times],
				`${runId} in ${this.#name}`,
			);
		}
	}

	#checkEntries(): void {
		const ends = new Map<string, number>();
		for (const line of this.#lines()) {
			if (!line.includes('"customType":"pi-subagents"')) continue;
			const { runId, status: word } = (JSON.parse(line) as { data: { runId: string; status: string } }).data;
			if (word !== "running") ends.set(runId, (ends.get(runId) ?? 0) + 1);
		}
		for (const [runId, count] of ends) assert.equal(count, 1, `${runId} ended ${count} times`);
	}
}
