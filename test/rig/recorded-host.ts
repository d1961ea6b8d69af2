import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Host } from "../../src/call/host.ts";
import { createTurns } from "../../src/call/turns.ts";
import { createLibrary } from "../../src/definitions/catalog.ts";
import type { KeptRun } from "../../src/domain/kept-run.ts";
import type { Invocation } from "../../src/domain/spec.ts";
import { createHeadStart } from "../../src/head-start/head-start.ts";
import type { AvailableModel } from "../../src/plan/model.ts";
import { createRunStore } from "../../src/records/run-store.ts";
import type { SessionEntry } from "../../src/records/session-entries.ts";
import { createBackground } from "../../src/session/background.ts";
import { createBudget } from "../../src/session/budget.ts";
import { createLiveRuns } from "../../src/session/live-runs.ts";
import { createQuestions } from "../../src/session/questions.ts";
import { createSaveRun } from "../../src/session/save-run.ts";
import { delegateTool } from "../../src/tools/delegate.ts";
import type { DelegateParameters } from "../../src/tools/delegate-schema.ts";
import { FAKE_PI } from "./fake-steps.ts";
import { createRecordedSession, type RecordedSession } from "./recorded-session.ts";

/** A session as the tools see it, with the fake pi for its children; what the tools tell it is written down. */
export interface RecordedHost {
	readonly host: Host;
	readonly context: ExtensionContext;
	/** The entries that went to the session file: what they said then. */
	readonly kept: KeptRun[];
	readonly warnings: string[];
	/** What background runs tell. */
	readonly session: RecordedSession;
	/** Ends the session. */
	shutDown(): void;
	delegate(parameters: DelegateParameters, options?: CallOptions): Promise<Call>;
}

/** What the tool gives back, and tells on the way. */
export type DelegateResult = Awaited<ReturnType<ReturnType<typeof delegateTool>["execute"]>>;

export interface CallOptions {
	readonly signal?: AbortSignal;
	onUpdate?(update: Update): void;
}

export interface Update extends DelegateResult {
	/** Milliseconds since the call. */
	readonly at: number;
}

export interface Call {
	readonly id: string;
	readonly result: DelegateResult;
	/** The only text of the result, line by line. */
	readonly lines: readonly string[];
	readonly updates: readonly Update[];
	/** pi is to report the call as failed. */
	readonly failed: boolean;
	readonly tookMs: number;
}

export interface HostOptions {
	readonly cwd: string;
	readonly command?: Invocation;
	/** The session's own model. */
	readonly model?: { readonly provider: string; readonly id: string };
	/** The models there are. */
	readonly models?: readonly AvailableModel[];
	/** How the session takes entries; it may throw. */
	appendEntry?(type: string, data: unknown): void;
}

export function createRecordedHost(options: HostOptions): RecordedHost {
	const lifetime = new AbortController();
	const session = createRecordedSession();
	const kept: KeptRun[] = [];
	const warnings: string[] = [];
	const store = createRunStore();
	const pi = {
		getThinkingLevel: () => "off",
		getAllTools: () => [],
		getActiveTools: () => [],
		getCommands: () => [],
	} as unknown as Host["pi"];
	const warn = (message: string) => void warnings.push(message);
	const branch: SessionEntry[] = [];
	const appendEntry = (customType: string, data: unknown) => {
		options.appendEntry?.(customType, data);
		branch.push({ type: "custom", customType, data: JSON.parse(JSON.stringify(data)) });
	};
	const keep = createSaveRun(store, appendEntry, warn, () => {});
	const command = options.command ?? { command: process.execPath, args: [FAKE_PI] };
	const library = createLibrary();
	const budget = createBudget();
	const host: Host = {
		pi,
		command,
		failedCalls: new Set(),
		resuming: new Set(),
		store,
		keep(record) {
			kept.push(record);
			keep(record);
		},
		library,
		live: createLiveRuns(),
		questions: createQuestions({ show: async () => null, onAway() {} }),
		budget,
		turns: createTurns(),
		headStart: createHeadStart({ pi, command, library, budget, warn }),
		background: createBackground(store, { ...session.port, warn }),
		sessionSignal: () => lifetime.signal,
		warn,
	};
	const models = options.models ?? [];
	const context = {
		cwd: options.cwd,
		model: options.model,
		mode: "json",
		hasUI: false,
		isProjectTrusted: () => true,
		scopedModels: [],
		modelRegistry: { getAll: () => models, getAvailable: () => models },
		sessionManager: { getSessionId: () => session.port.sessionId(), getBranch: () => branch },
	} as unknown as ExtensionContext;
	return {
		host,
		context,
		kept,
		warnings,
		session,
		shutDown: () => lifetime.abort(),
		delegate: (parameters, call) => delegateWith(host, context, parameters, call),
	};
}

let calls = 0;

async function delegateWith(
	host: Host,
	context: ExtensionContext,
	parameters: DelegateParameters,
	{ signal, onUpdate }: CallOptions = {},
): Promise<Call> {
	const id = `call-${calls++}`;
	const begin = performance.now();
	const updates: Update[] = [];
	const record = (update: DelegateResult) => {
		updates.push({ ...update, at: performance.now() - begin });
		onUpdate?.({ ...update, at: performance.now() - begin });
	};
	const result = await delegateTool(host).execute(id, parameters, signal, record, context);
	const [content] = result.content;
	if (result.content.length !== 1 || content?.type !== "text") throw new Error("A14: the content is not one text.");
	const tookMs = performance.now() - begin;
	return { id, result, lines: content.text.split("\n"), updates, failed: host.failedCalls.has(id), tookMs };
}
