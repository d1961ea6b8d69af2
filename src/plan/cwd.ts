import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { err, messageOf, ok, type Result } from "../domain/result.ts";

/** The directory a task asks for. The raw value is checked: once resolved, every path is absolute and without `..`. */
export function planCwd(asked: string | undefined, sessionCwd: string): Result<string> {
	const cwd = asked ?? sessionCwd;
	if (!isAbsolute(cwd)) return err("cwd must be an absolute path");
	if (cwd.split(/[\\/]/).includes("..")) return err("cwd must not contain '..' path segments");
	try {
		const kind = statSync(cwd, { throwIfNoEntry: false });
		if (!kind) return err(`cwd does not exist: ${cwd}`);
		return kind.isDirectory() ? ok(cwd) : err(`cwd is not a directory: ${cwd}`);
	} catch (error) {
		return err(`cwd cannot be used: ${cwd} (${(error as NodeJS.ErrnoException).code ?? messageOf(error)})`);
	}
}
