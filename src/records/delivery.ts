import { readlinkSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { identityOf } from "../files/process-identity.ts";

/** Who tells of a run's end. `held`: somebody who lives does or did, maybe this process itself. */
export type Claim = { readonly kind: "taken"; release(): void } | { readonly kind: "held" };

const CLAIM = "delivered";
/** Each takes a process that died in between. */
const MAX_CLAIMS = 1_000;

/**
 * Claims the telling of a run's end for this process, for good. The same session may be open in several of them: the first
 * that asks has it, and after its death the first that asks then. A claim is a link that points to whoever holds it,
 * because a link is there at once and whole; a dead one is never removed but followed by the next, so that of two who
 * find it dead only one goes on.
 */
export function claimDelivery(directory: string): Claim {
	for (let number = 1; number <= MAX_CLAIMS; number++) {
		const path = join(directory, number === 1 ? CLAIM : `${CLAIM}-${number}`);
		try {
			symlinkSync(identityOf(process.pid) ?? String(process.pid), path);
			return { kind: "taken", release: () => unlinkSync(path) };
		} catch (error) {
			// Where nobody can claim, better told twice than never.
			if ((error as NodeJS.ErrnoException).code !== "EEXIST") return { kind: "taken", release() {} };
		}
		if (isHeld(path)) return { kind: "held" };
	}
	return { kind: "held" };
}

const TOLD = "told";

/** After the telling: whoever claims later, because the teller is gone, finds that it was done. */
export function markTold(directory: string): void {
	try {
		symlinkSync(String(process.pid), join(directory, TOLD));
	} catch {
		// it is there already, or the directory is not
	}
}

export function isMarkedTold(directory: string): boolean {
	try {
		readlinkSync(join(directory, TOLD));
		return true;
	} catch {
		return false;
	}
}

function isHeld(path: string): boolean {
	try {
		const holder = readlinkSync(path);
		return holder === identityOf(Number.parseInt(holder, 10));
	} catch {
		return false;
	}
}
