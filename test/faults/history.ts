import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "../rig/home.ts";
import { hang, type ModelRequest, type ModelServer, type Reply, status, text, toolCall } from "../rig/model-server.ts";
import { type Kind, Session, type Step } from "./history-session.ts";

export type { Kind, Step };

/** What happens in a project with two sessions open: in the one, or in the other. */
export type ProjectStep = Step | { readonly do: "other"; readonly step: Step };

const WORKER = "---\nname: worker\ndescription: works\nmodel: mock/mock-1\n---\nYou work.\n";
/** Long enough for a few steps to happen before. */
const LATE_MS = 1_500;
const isParent = (request: ModelRequest) => request.tools.includes("delegate_to_subagents");

/** Carries out a history against real pis, and keeps account of what must be true afterwards. */
export class History {
	readonly #home: Home;
	readonly #sessions: { readonly one: Session; readonly other: Session };

	constructor(home: Home, server: ModelServer) {
		this.#home = home;
		const everybodys = new Set<string>();
		this.#sessions = { one: new Session(home, "one", everybodys), other: new Session(home, "other", everybodys) };
		home.write(join(home.agentDir, "subagents", "worker.md"), WORKER);
		server.use((request) => (isParent(request) ? this.#sessionOf(request).reply() : childReply(request)));
	}

	async run(steps: readonly ProjectStep[]): Promise<void> {
		const { one, other } = this.#sessions;
		try {
			for (const each of steps) {
				if (each.do === "other") await other.step(each.step);
				else await one.step(each);
			}
			await one.check();
			await other.check();
			this.#checkFiles();
		} finally {
			one.dispose();
			other.dispose();
		}
	}

	#sessionOf({ messages }: ModelRequest): Session {
		const { one, other } = this.#sessions;
		const last = messages.findLast(({ text: said }) => said === one.prompt || said === other.prompt);
		return last?.text === other.prompt ? other : one;
	}

	#checkFiles(): void {
		for (const at of [join(this.#home.project, ".pi"), this.#home.agentDir]) {
			const runs = join(at, "subagents", "runs");
			for (const name of existsSync(runs) ? readdirSync(runs).filter((each) => /^\d/.test(each)) : []) {
				for (const file of readdirSync(join(runs, name))) checkFile(join(runs, name, file));
			}
		}
	}
}

function checkFile(path: string): void {
	if (!/\.jsonl?$/.test(path)) return;
	const content = readFileSync(path, "utf8");
	if (path.endsWith(".json")) JSON.parse(content);
	if (!path.endsWith(".jsonl")) return;
	const torn = content.split("\n").filter((line) => line !== "" && !isJson(line));
	assert.ok(torn.length <= 1, `${path} has ${torn.length} torn lines`);
}

function isJson(line: string): boolean {
	try {
		JSON.parse(line);
		return true;
	} catch {
		return false;
	}
}

function childReply({ lastUser, turn }: ModelRequest): Reply {
	const asked = lastUser.split("Instructions:\n\n").at(-1) ?? "";
	if (asked.startsWith("fine")) return text(`answer to ${asked}`);
	if (asked.startsWith("late")) return text(`answer to ${asked}`, { delayMs: LATE_MS });
	if (asked.startsWith("slow")) return hang({ text: `half of ${asked}` });
	if (asked.startsWith("crash") && turn === 0) return toolCall("bash", { command: "kill -9 $PPID" });
	return status(400, { error: { message: "not today" } });
}
