import { connect } from "node:net";
import { isSocketOf } from "./protocol.ts";

/**
 * Whether a run's supervisor is there. A pid proves nothing, since it may be another process's by now; an answer on the run's
 * socket does. `unknown`: the system could not tell, for one because too many files are open.
 */
export type Presence = "there" | "absent" | "unknown";

/** Errors of a connection that prove that nobody listens. */
const ABSENCE: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ENOTSOCK", "ECONNREFUSED"]);

/** What a failed connection says. */
export const presenceAfter = ({ code }: NodeJS.ErrnoException): "absent" | "unknown" =>
	ABSENCE.has(code) ? "absent" : "unknown";

/** Asks on a socket that is known to be the run's own. */
export function presenceAt(socket: string): Promise<Presence> {
	return new Promise((resolve) => {
		const connection = connect(socket);
		connection.once("error", (error) => resolve(presenceAfter(error)));
		connection.once("connect", () => {
			connection.destroy();
			resolve("there");
		});
	});
}

/** The same for a path that somebody wrote down. One that cannot be the run's own is not connected to. */
export const presenceOf = async (runId: string, socket: string): Promise<Presence> =>
	isSocketOf(runId, socket) ? await presenceAt(socket) : "unknown";
