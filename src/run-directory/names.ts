/** The files of a run directory. */
export const FILES = {
	meta: "meta.json",
	/** Instead of it, while a run has been started ahead of its task. */
	parked: "parked.json",
	events: "events.jsonl",
	result: "result.json",
	stdout: "stdout.log",
	stderr: "stderr.log",
	transcript: "transcript.log",
	/** When each call that can change files began and ended. */
	callTimes: "call-times.jsonl",
	childSession: "child-session.jsonl",
	systemPrompt: "system-prompt.md",
	appendSystemPrompt: "append-system-prompt.md",
} as const;

const RUN_ID = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-[0-9a-f]{8}$/;

/** The same inside of a larger pattern. */
export const RUN_ID_PATTERN = String.raw`\d{8}-\d{6}-[0-9a-f]{8}`;

export const isRunId = (text: string): boolean => RUN_ID.test(text);

/** When a run started, as its id says: nothing has to be opened for it. */
export function startOfRun(runId: string): number {
	const [, year, month, day, hour, minute, second] = RUN_ID.exec(runId) ?? [];
	return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
}
