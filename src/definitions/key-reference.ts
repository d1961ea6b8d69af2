import { exec } from "node:child_process";
import { KEY_REFERENCE } from "../domain/key.ts";
import { err, ok, type Result } from "../domain/result.ts";

const COMMAND_TIMEOUT_MS = 10_000;

const commandKeys = new Map<string, Promise<string>>();

/**
 * The key that a value stands for, as pi's models.json reads it: `!command` is what the command prints, `$NAME` and
 * `${NAME}` are variables of the environment, `$$` and `$!` the characters themselves. A reason never tells a key.
 */
export async function resolveKey(value: string, env: NodeJS.ProcessEnv = process.env): Promise<Result<string>> {
	const key = value.startsWith("!") ? await keyFromCommand(value.slice(1)) : keyFromTemplate(value, env);
	if (key.ok && /[^\x21-\x7e]/.test(key.value)) return err("its apiKey has characters that no key can have");
	return key;
}

function keyFromTemplate(value: string, env: NodeJS.ProcessEnv): Result<string> {
	const missing: string[] = [];
	const key = value.replace(KEY_REFERENCE, (_all, escaped?: string, braced?: string, bare?: string) => {
		if (escaped !== undefined) return escaped;
		const name = braced ?? bare ?? "";
		const found = env[name];
		if (!found) missing.push(name);
		return found ?? "";
	});
	if (missing.length > 0)
		return err(`its apiKey refers to ${missing.map((name) => `$${name}`).join(", ")}, which is not set`);
	return ok(key);
}

/** A command is run once per process: it may ask for a fingerprint. One that failed is run again. */
async function keyFromCommand(command: string): Promise<Result<string>> {
	const known = commandKeys.get(command) ?? outputOf(command);
	commandKeys.set(command, known);
	const printed = await known;
	if (printed !== "") return ok(printed);
	commandKeys.delete(command);
	return err("the command of its apiKey failed, or printed nothing");
}

function outputOf(command: string): Promise<string> {
	return new Promise<string>((resolve) => {
		const child = exec(command, { timeout: COMMAND_TIMEOUT_MS, windowsHide: true }, (error, stdout) =>
			resolve(error ? "" : stdout.trim()),
		);
		child.stdin?.on("error", () => {}).end();
	});
}
