import { findDefinition } from "../definitions/lookup.ts";
import { realPath } from "../definitions/real-path.ts";
import { type Amounts, NO_AMOUNTS, smallest } from "../domain/budget.ts";
import type { ChangesPolicy } from "../domain/changes.ts";
import type { AgentDefinition } from "../domain/definition.ts";
import { FINALIZE_TOOL } from "../domain/finalized.ts";
import { strictest } from "../domain/isolation.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { Contract, Limits, ReceiptSource, RunFile, RunSpec } from "../domain/spec.ts";
import { WORD_OF } from "../domain/spec.ts";
import { effectOfAll } from "../domain/tool-effect.ts";
import { FILES } from "../run-directory/names.ts";
import { planAgent, type Surroundings } from "./agent.ts";
import { type ChildOptions, planArguments } from "./arguments.ts";
import { planCwd } from "./cwd.ts";
import { planFallback } from "./fallback.ts";
import { type FileRequest, readFiles } from "./files.ts";
import type { Parent, PlannedRun } from "./parent.ts";

/** One task of any tool, with nothing left to interpret. */
export interface RunRequest extends Pick<RunSpec, "runId" | "sessionId" | "family" | "label" | "task"> {
	/** What the child is told after the files: the task, and before it what a resumed session has done. */
	readonly instructions: string;
	readonly files: readonly FileRequest[];
	/** The name of its definition; a task may have none. */
	readonly definition: string | undefined;
	/** The call's own model. */
	readonly model: string | undefined;
	readonly cwd: string | undefined;
	/** The call's own; then the definition's counts, then the tool's. */
	readonly timeoutSeconds: number | undefined;
	readonly defaultTimeoutSeconds: number | undefined;
	readonly session: ChildOptions["session"];
	/** A `fixed` session id is the caller's; a `free` one is nobody's yet, and another would do as well. */
	readonly naming: "fixed" | "free";
	readonly contract: Contract;
	readonly sharedSession: string | undefined;
	readonly lifetime: RunSpec["lifetime"];
}

/** What a child loads: our extension, and what hands pi's validator and its class for `ctx.ui` to it. */
export interface ChildPrograms {
	readonly extension: string;
	readonly validator: string;
	readonly runner: string;
}

/** An error is this task's alone: the others of the call run. */
export async function planRun(
	request: RunRequest,
	parent: Parent,
	surroundings: Surroundings,
	programs: ChildPrograms,
): Promise<Result<PlannedRun>> {
	const { definition: name, runId, sessionId, family, label, task } = request;
	const word = WORD_OF[family];
	const found = name === undefined ? undefined : findDefinition(surroundings.catalog, word, name);
	if (found && !found.ok) return err(found.error.message);
	const contract = contractFor(request.contract, found?.value);
	const refusal = refusalBy(parent.settings, found?.value);
	if (refusal !== undefined) return err(refusal);
	const cwd = planCwd(request.cwd, parent.cwd);
	if (!cwd.ok) return cwd;
	const { settings } = parent;
	const elsewhere = realPath(cwd.value) !== realPath(parent.cwd);
	const plan = await planAgent(
		{
			word,
			definition: found?.value,
			model: request.model,
			inheritedModel: settings.inheritModel ? parent.model : undefined,
			sessionModel: parent.model,
			elsewhere,
			internalTools: contract.kind === "finalize" ? [FINALIZE_TOOL] : [],
		},
		surroundings,
	);
	if (!plan.ok) return plan;
	const { agent, model, args, apiKey, tools } = plan.value;
	const fallback = planFallback(
		{ definition: found?.value, asked: request.model, model, apiKey, setting: settings.fallbackModels },
		surroundings.models,
	);
	if (!fallback.ok) return fallback;
	const timeoutSeconds = request.timeoutSeconds ?? plan.value.timeoutSeconds ?? request.defaultTimeoutSeconds ?? 0;
	const attachments = await readFiles(request.files, cwd.value);
	const trust = elsewhere ? undefined : parent.trust;
	const isolation = strictest(settings.isolation, found?.value.isolation ?? "none");
	return ok({
		spec: {
			...{ runId, sessionId, family, label, task, agent, model },
			fallback: fallback.value,
			maxInFlight: settings.maxInFlight,
			cwd: cwd.value,
			invocation: planArguments({
				pi: parent.pi,
				extensions: extensionsFor(contract, parent, programs),
				session: request.session,
				trust,
				agentArgs: args,
			}),
			socket: parent.socketOf(runId),
			limits: limitsOf(timeoutSeconds, settings),
			budget: smallest(found?.value.budget ?? NO_AMOUNTS, budgetOf(settings)),
			sessionBudget: parent.sessionBudget,
			writeGuard: settings.writeGuard && isolation !== "worktree" ? parent.writeLedger : undefined,
			contract,
			sharedSession: request.sharedSession,
			lifetime: request.lifetime,
			leftovers: settings.leftovers,
			isolation,
			changes: changesFor(settings, found?.value),
			receipt: receiptSource(settings.receipts, agent),
		},
		files: [...plan.value.files, ...sessionFiles(request)],
		shortfall: attachments.shortfall,
		packet: { prompt: [...attachments.blocks, request.instructions].join("\n\n"), apiKey, tools, contract },
	});
}

function refusalBy(
	{ refusal, changes }: Parent["settings"],
	definition: AgentDefinition | undefined,
): string | undefined {
	if (refusal !== undefined || definition?.changes !== "apply" || changes === "apply") return refusal;
	return `"${definition.name}" has changes: apply, which your settings do not allow: set subagents.changes to "apply"`;
}

const changesFor = ({ changes }: Parent["settings"], definition: AgentDefinition | undefined): ChangesPolicy =>
	definition?.changes ?? changes;

/** Nothing is loaded for questions where nobody is there to ask, and no validator where there is nothing to validate. */
const extensionsFor = (
	contract: Contract,
	{ attended }: Parent,
	{ extension, validator, runner }: ChildPrograms,
): readonly string[] => [
	...(attended ? [runner] : []),
	extension,
	...(contract.kind === "finalize" && contract.output ? [validator] : []),
];
const RECEIPT_SOURCES = { none: "read-only", file: "calls", any: "scan" } as const;
const receiptSource = (isOn: boolean, agent: RunSpec["agent"]): ReceiptSource =>
	isOn ? RECEIPT_SOURCES[effectOfAll(agent?.tools)] : "off";

const limitsOf = (timeoutSeconds: number, settings: Parent["settings"]): Limits => ({
	timeoutMs: timeoutSeconds * 1_000,
	idleGraceMs: settings.idleGraceSeconds * 1_000,
	wrapUpMs: wrapUpMsOf(timeoutSeconds, settings.wrapUpSeconds),
	questionMs: settings.questionTimeout * 1_000,
	repeatedCalls: settings.repeatedCalls,
});

/** Short tasks would be told before they have begun. */
const MIN_WRAP_UP_TIMEOUT_SECONDS = 60;
const wrapUpMsOf = (timeoutSeconds: number, wrapUpSeconds: number): number =>
	timeoutSeconds < MIN_WRAP_UP_TIMEOUT_SECONDS ? 0 : Math.min(wrapUpSeconds * 1_000, timeoutSeconds * 100);

function contractFor(contract: Contract, definition: AgentDefinition | undefined): Contract {
	if (contract.kind !== "finalize" || !definition) return contract;
	const { mayAsk, output } = definition;
	return { ...contract, ...(mayAsk ? {} : { mayAsk }), ...(output && { output }) };
}

const budgetOf = ({ maxTokens, maxCost, maxTurns }: Parent["settings"]): Amounts => ({
	tokens: maxTokens ?? 0,
	cost: maxCost ?? 0,
	turns: maxTurns ?? 0,
});

/** A session in the run's own directory is there before pi is: pi takes an empty file, and leaves it as private as it is. */
const sessionFiles = ({ family }: RunRequest): readonly RunFile[] =>
	family === "preset" ? [{ name: FILES.childSession, text: "" }] : [];
