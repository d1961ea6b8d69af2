import { sanitizeLine } from "../present/sanitize.ts";
import type { FleetRun } from "../session/fleet.ts";

/** What the lower edge says: the longest that fits. */
export const LIST_KEYS = [
	"↑↓ select · enter watch · m message · x x stop · b background · r resume · f files · esc",
	"enter watch · m message · x x stop · b · r · f · esc",
];
export const WATCH_KEYS = [
	"m message · x x stop · b background · ↑↓ PgUp PgDn scroll · end follow · esc back",
	"m message · x x stop · b · ↑↓ scroll · end · esc back",
];
export const INPUT_KEYS = [
	"enter send after this turn · ctrl+n send now · esc close the input",
	"enter after this turn · ctrl+n now · esc close",
];

/** `message to auth (delivered after the running tool)` */
export function messageTitle(name: string, { shown, state }: FleetRun): string {
	const isBusy = state?.activity.kind === "tools";
	const when = shown === "queued" ? "with its first turn" : isBusy ? "after the running tool" : "after this answer";
	return `message to ${name} (delivered ${when})`;
}

/** A request that the person completes and the agent understands: each tool resumes its own sessions. */
export function resumeText({ family, sessionId, label, runId }: FleetRun): string {
	const name = sanitizeLine(label);
	if (family === "delegate") return `Resume the sub-agent "${name}" (delegate_to_subagents, resume: "${sessionId}"): `;
	if (family === "agent") return `Go on with the agent "${name}" (subagent, sessionId: "${sessionId}"): `;
	return `Look at the run "${name}" (get_subagent_output, sessionId: "${runId}") and go on with: `;
}
