import { randomUUID } from "node:crypto";
import { isSocketOf } from "../child/protocol.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { MAX_STEER_CHARS, type Receipt, type Sender, type Steer } from "../domain/steer.ts";
import { readRun } from "../run-directory/read.ts";
import { readResult } from "../run-directory/result.ts";
import { type Answer, type ControlClient, connectControl } from "./control-client.ts";
import { killSupervisor, type StartedRun, startOf } from "./watch.ts";

/** Who sends a message, and by what its supervisor believes that. */
export type Proof =
	| { readonly as: Exclude<Sender, "process">; readonly token: string }
	| { readonly as: "process"; readonly token: undefined };

export const STRANGER: Proof = { as: "process", token: undefined };

/** A message that waits for the run's next turn. */
export interface SentMessage {
	readonly id: string;
	/** Delivered, or not delivered because the run ended. It does not keep this process alive. */
	readonly settled: Promise<Receipt>;
}

const ANSWER_MS = 5_000;
/** More than the stop ladder's own time: then a supervisor that does not answer is killed. */
const UNRESPONSIVE_MS = 9_000;

/** Why a text cannot be sent; undefined where it can. */
export function refuseText(text: string): string | undefined {
	if (text.trim() === "") return "A message needs a text";
	return text.length > MAX_STEER_CHARS ? `A message has at most ${MAX_STEER_CHARS} characters` : undefined;
}

export const createSteer = (text: string, when: Steer["when"]): Steer => ({ id: randomUUID(), text, when });

/** Sends a message to a run that this or any other process of the user has started. */
export async function sendMessage(run: StartedRun, steer: Steer, proof: Proof): Promise<Result<SentMessage>> {
	const problem = refuseText(steer.text);
	if (problem !== undefined) return err(problem);
	const connected = await connect(run);
	if (!connected.ok) return connected;
	const control = connected.value;
	if (proof.as === "process" && !(await takesMessages(run))) return refuse(control, tooOld(run));
	const settled = receiptOf(run, control, steer.id);
	const answer = nextAnswer(control, (said) => said.type !== "steered" || said.id === steer.id);
	control.send({ type: "steer", steer, ...proof });
	const said = await answer;
	if (said.kind === "answer" && said.answer.type === "steered") {
		if (said.answer.receipt.kind === "undelivered") return refuse(control, hasEnded(run));
		control.unref();
		return ok({ id: steer.id, settled });
	}
	if (said.kind === "silence") return refuse(control, `Run ${run.runId} does not answer`);
	if (said.kind === "answer" && said.answer.type === "refused") return refuse(control, said.answer.why);
	const over = said.kind === "gone" && (await readResult(run.directory)) !== undefined;
	return refuse(control, over ? hasEnded(run) : tooOld(run));
}

/** Asks a run to stop. The process that does not obey is killed. */
export async function stopRun(run: StartedRun, unresponsiveMs: number = UNRESPONSIVE_MS): Promise<Result<undefined>> {
	const connected = await connect(run);
	if (!connected.ok) return connected;
	const control = connected.value;
	control.send({ type: "stop", cause: { kind: "aborted", by: "person" } });
	control.unref();
	const insist = setTimeout(() => void (run.distrusted || killSupervisor(run.directory)), unresponsiveMs).unref();
	const leave = control.listen((answer) => {
		if (answer) return;
		clearTimeout(insist);
		leave();
	});
	return ok(undefined);
}

/** Lets a run go on when the parent that started it is gone. The connection that did so stays open. */
export async function releaseRun(run: StartedRun, token: string): Promise<Result<ControlClient>> {
	const connected = await connect(run);
	if (!connected.ok) return connected;
	const control = connected.value;
	const answer = nextAnswer(control, ({ type }) => type === "released" || type === "refused" || type === "unknown");
	control.send({ type: "release", token });
	const said = await answer;
	if (said.kind === "answer" && said.answer.type === "released") return ok(control);
	if (said.kind === "silence") return refuse(control, `Run ${run.runId} does not answer`);
	if (said.kind !== "answer") return refuse(control, hasEnded(run));
	return refuse(control, said.answer.type === "refused" ? said.answer.why : tooOld(run));
}

/**
 * Whether a run that somebody else started is of a version that takes messages. An older supervisor must not be asked: it hangs up
 * on what it does not know, takes that for the end of its parent, and stops the run.
 */
async function takesMessages(run: StartedRun): Promise<boolean> {
	const deadline = Date.now() + ANSWER_MS;
	while (!run.distrusted) {
		const started = await startOf(run.directory);
		if (started) return (started.protocol ?? 1) >= STEER_PROTOCOL;
		if (Date.now() > deadline) return false;
		await new Promise((resolve) => setTimeout(resolve, LOOK_MS)); // it is just being started
	}
	return true; // its directory may not be read, and it is one of our own background runs, which such an end does not stop
}

/** The first that knows `steer`. */
const STEER_PROTOCOL = 2;
const LOOK_MS = 50;

async function connect(run: StartedRun): Promise<Result<ControlClient>> {
	if (!isSocketOf(run.runId, run.socket))
		return err(`Run ${run.runId} is not followed: its socket is not private to you`);
	const control = await connectControl(run.socket);
	if (control.ok) return control;
	const { presence, message } = control.error;
	return err(presence === "absent" ? hasEnded(run) : `Run ${run.runId} does not answer: ${message}`);
}

const hasEnded = ({ runId }: StartedRun) => `Run ${runId} has ended`;
const tooOld = ({ runId }: StartedRun) =>
	`Run ${runId} was started by an older version of this package: it can be watched and stopped only`;

function refuse(control: ControlClient, why: string): Result<never> {
	control.close();
	return err(why);
}

type Said = { readonly kind: "answer"; readonly answer: Answer } | { readonly kind: "silence" | "gone" };

function nextAnswer(control: ControlClient, matches: (answer: Answer) => boolean): Promise<Said> {
	return new Promise((resolve) => {
		const settle = (said: Said) => {
			clearTimeout(timer);
			leave();
			resolve(said);
		};
		const timer = setTimeout(settle, ANSWER_MS, { kind: "silence" });
		const leave = control.listen((answer) => {
			if (!answer) settle({ kind: "gone" });
			else if (matches(answer)) settle({ kind: "answer", answer });
		});
	});
}

/** A supervisor that is gone without a word has left in the trail what its run received. */
function receiptOf(run: StartedRun, control: ControlClient, id: string): Promise<Receipt> {
	return new Promise((resolve) => {
		const settle = (receipt: Receipt) => {
			leave();
			control.close();
			resolve(receipt);
		};
		const leave = control.listen((answer) => {
			if (!answer) void trailReceipt(run, id).then(settle);
			else if (answer.type === "steered" && answer.id === id && answer.receipt.kind !== "queued")
				settle(answer.receipt);
		});
	});
}

async function trailReceipt(run: StartedRun, id: string): Promise<Receipt> {
	const state = run.distrusted ? undefined : await readRun(run.directory).catch(() => undefined);
	const receipt = state?.steers.find((steer) => steer.id === id)?.receipt;
	return receipt?.kind === "delivered" ? receipt : { kind: "undelivered" };
}
