import { randomBytes } from "node:crypto";

/** Names a run and its directory: sorts by time, and says when without being opened. */
export function createRunId(at: Date): string {
	const [date, time] = at.toISOString().split("T") as [string, string];
	return `${date.replaceAll("-", "")}-${time.slice(0, 8).replaceAll(":", "")}-${randomBytes(4).toString("hex")}`;
}

/** Names a session of `delegate_to_subagents`. */
export const createSessionId = (): string => randomBytes(8).toString("hex");

/** 256 bits, kept in memory: by it a supervisor knows the parent that started its run. */
export const createToken = (): string => randomBytes(32).toString("base64url");
