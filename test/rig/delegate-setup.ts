import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSetup } from "./fake-run.ts";
import { type FakeStep, promptOf } from "./fake-steps.ts";
import { makeAgentDirectory } from "./no-receipts.ts";
import { type Call, createRecordedHost, type HostOptions, type RecordedHost } from "./recorded-host.ts";

/** A place of their own for sessions whose children are the fake pi. */
export interface DelegateSetup {
	/** A session in a new project, with these settings of the package. */
	session(options?: Partial<HostOptions>, settings?: object): RecordedHost;
	dispose(): void;
}

/** Sets TMPDIR and pi's agent directory for this process. */
export function createDelegateSetup(): DelegateSetup {
	const setup = createSetup();
	const before = process.env.PI_CODING_AGENT_DIR;
	process.env.PI_CODING_AGENT_DIR = makeAgentDirectory(join(setup.temporary, "agent"));
	let projects = 0;
	return {
		session(options = {}, settings) {
			const cwd = join(setup.project, `p${projects++}`);
			mkdirSync(join(cwd, ".pi"), { recursive: true });
			if (settings) writeFileSync(join(cwd, ".pi", "settings.json"), JSON.stringify({ subagents: settings }));
			return createRecordedHost({ cwd, ...options });
		},
		dispose() {
			if (before === undefined) delete process.env.PI_CODING_AGENT_DIR;
			else process.env.PI_CODING_AGENT_DIR = before;
			setup.dispose();
		},
	};
}

export const task = (name: string, ...steps: FakeStep[]) => ({ name, prompt: promptOf(...steps) });

/** The lines of a call with `(session)` where each has its own session id. */
export const linesOf = ({ lines, result }: Call): string[] =>
	lines.map((line, index) => line.replace(` (session: ${result.details.sessionIds[index]})`, " (session)"));

/** The runs that a session has left in its project. */
export const runIdsIn = ({ context }: Pick<RecordedHost, "context">): string[] =>
	readdirSync(join(context.cwd, ".pi", "subagents", "runs")).filter((name) => /^\d/.test(name));
