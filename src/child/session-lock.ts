import {
	chmodSync,
	linkSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	unlinkSync,
	writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { err, messageOf, ok, type Result } from "../domain/result.ts";
import { isForeign } from "../files/private.ts";
import { presenceAt } from "./presence.ts";
import { createLookout } from "./run-processes.ts";

export interface SessionLock {
	release(): void;
}

/** Whoever writes to the session file: the run, and where its supervisor answers. */
interface Holder {
	readonly runId: string;
	readonly socket: string;
}

/** A run that wants to write, or may. */
interface Claim extends Holder {
	readonly stage: "asking" | "holding";
}

const POLL_MS = 20;
/** For what takes a moment: another that asks too, or the last processes of a run whose supervisor was killed. */
const MAX_WAIT_MS = 10_000;

/**
 * One writer per session file, across processes; a run that shares none has nothing to wait for. A run first puts a claim of its own beside the file and then looks for
 * others: of two that do so at the same time at least one sees the other, and the one with the lower id goes first. A
 * crash leaves a claim but nobody who answers for it, so it locks nobody out. Must be called while the run's own socket
 * listens. Aborting `stop` ends the waiting. Never throws.
 */
export async function lockSession(
	sessionFile: string | undefined,
	{ runId, socket }: Holder,
	stop: AbortSignal,
): Promise<Result<SessionLock>> {
	if (sessionFile === undefined) return ok({ release() {} });
	const directory = dirname(sessionFile);
	const prefix = `${basename(sessionFile)}.lock-`;
	const own = join(directory, `${prefix}${runId}`);
	const release = () => remove(own);
	try {
		makePrivate(directory);
		const foreign = [directory, sessionFile].find(isForeign);
		if (foreign !== undefined) return err(`The session cannot be used: ${foreign} belongs to another user`);
		put(own, { runId, socket, stage: "asking" }, linkSync);
		const other = await firstOf(directory, prefix, runId, stop);
		if (other !== undefined) {
			release();
			return err(`The session is in use by run ${other}`);
		}
		put(own, { runId, socket, stage: "holding" }, renameSync);
		return ok({
			release() {
				keepPrivate(sessionFile);
				release();
			},
		});
	} catch (error) {
		release();
		return err(`The session could not be locked: ${messageOf(error)}`);
	}
}

/** pi makes it as the umask has it. What cannot be changed is no reason to fail: its directory is closed. */
function keepPrivate(path: string): void {
	try {
		chmodSync(path, 0o600);
	} catch {
		// there may be none
	}
}

/** Whoever came first: pi itself makes directories that others can read. */
export function makePrivate(directory: string): void {
	mkdirSync(directory, { recursive: true, mode: 0o700 });
	if (!isForeign(directory)) chmodSync(directory, 0o700);
}

/** The run that goes first instead of this one, if there is any. */
async function firstOf(
	directory: string,
	prefix: string,
	runId: string,
	stop: AbortSignal,
): Promise<string | undefined> {
	const claims = readdirSync(directory).filter((name) => name.startsWith(prefix) && name !== `${prefix}${runId}`);
	for (const name of claims) {
		const other = await settle(join(directory, name), runId, stop);
		if (other !== undefined) return other;
	}
	return undefined;
}

/** Waits until it is clear whether the run of this claim goes first; undefined when it is out of the way. */
async function settle(path: string, runId: string, stop: AbortSignal): Promise<string | undefined> {
	const deadline = performance.now() + MAX_WAIT_MS;
	while (true) {
		const claim = readClaim(path);
		if (!claim) break;
		const answered = (await presenceAt(claim.socket)) !== "absent";
		if (answered && (claim.stage === "holding" || claim.runId < runId)) return claim.runId;
		// Without a supervisor it is over, once its pi, which may still write, has noticed.
		if (!answered && (await createLookout(claim.runId)()).length === 0) break;
		if (stop.aborted || performance.now() > deadline) return claim.runId;
		await pause(POLL_MS);
	}
	remove(path);
	return undefined;
}

/** Whole or not at all: nobody may take half a claim for none. */
function put(path: string, claim: Claim, place: (from: string, to: string) => void): void {
	const temporary = join(dirname(path), `.${basename(path)}`);
	try {
		writeFileSync(temporary, JSON.stringify(claim), { mode: 0o600 });
		place(temporary, path);
	} finally {
		remove(temporary);
	}
}

function readClaim(path: string): Claim | undefined {
	try {
		const { runId, socket, stage } = JSON.parse(readFileSync(path, "utf8")) as Partial<Claim>;
		if (typeof runId !== "string" || typeof socket !== "string") return undefined;
		return { runId, socket, stage: stage === "asking" ? "asking" : "holding" };
	} catch {
		return undefined;
	}
}

function remove(path: string): void {
	try {
		unlinkSync(path);
	} catch {
		// gone already
	}
}
