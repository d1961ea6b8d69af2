/** The files of a run directory. */
export const FILES = {
	meta: "meta.json",
	events: "events.jsonl",
	result: "result.json",
	stdout: "stdout.log",
	stderr: "stderr.log",
	transcript: "transcript.log",
	systemPrompt: "system-prompt.md",
} as const;
