import { err, ok, type Result } from "../domain/result.ts";

const SHELL_LIKE = /^[\s|&;$\\`!]|&&|\|\||;|>|>>|<|<</;

const TOOL_FLAGS = ["--tools", "-t", "--no-tools", "-nt", "--exclude-tools", "-xt", "--no-builtin-tools", "-nbt"];

/** Not even where nothing is restricted: secrets, trust, code, and whatever else has a field of its own. */
const NEVER: ReadonlyMap<string, string> = new Map([
	...each(["--api-key"], 'a key would be visible to everybody; use "apiKey"'),
	...each(["--approve", "-a", "--no-approve", "-na"], "trust is decided by the person"),
	...each(["--extension", "-e"], 'use "extensions"'),
	...each(["--provider", "--model", "--models"], 'use "provider" and "model"'),
	...each(["--thinking"], 'use "thinkingLevel"'),
	...each(["--system-prompt", "--append-system-prompt"], 'use the body, or "appendSystemPrompt"'),
	...each(
		["--mode", "--print", "-p", "--session", "--no-session", "--session-id", "--session-dir", "--continue", "-c"],
		"it would change how the sub-agent is run",
	),
	...each(
		["--resume", "-r", "--fork", "--export", "--list-models", "--help", "-h", "--version", "-v", "--"],
		"it would change how the sub-agent is run",
	),
]);

function each(flags: readonly string[], reason: string): [string, string][] {
	return flags.map((flag) => [flag, reason]);
}

/** Arguments that go to the child as they are, after all others. */
export function checkExtraArguments(args: readonly string[], restrictsTools: boolean): Result<readonly string[]> {
	for (const arg of args) {
		const refusal = refusalOf(arg, restrictsTools);
		if (refusal !== undefined) return err(refusal);
	}
	return ok(args);
}

function refusalOf(arg: string, restrictsTools: boolean): string | undefined {
	if (arg.includes("\0")) return "Invalid extraArg: contains null byte";
	if (SHELL_LIKE.test(arg)) return `Refusing extraArg: potentially unsafe argument '${arg}...'`;
	const flag = arg.split("=", 1)[0] ?? arg;
	if (restrictsTools && TOOL_FLAGS.includes(flag)) {
		return `Refusing extraArg "${arg}" which would override profile tool restrictions. Use the dedicated profile fields instead.`;
	}
	const reason = NEVER.get(flag) ?? (arg.startsWith("@") ? "it would be read as a file" : undefined);
	return reason === undefined ? undefined : `Refusing extraArg "${flag}": ${reason}.`;
}
