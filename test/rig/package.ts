import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface PackedPackage {
	/** What `packages` in pi's settings names. */
	readonly directory: string;
	/** What `-e` names. */
	readonly extension: string;
	dispose(): void;
}

const ROOT = join(import.meta.dirname, "../..");

/** The package as a person has it: what is published, the bundle built, no source and nothing installed beside it. */
export function packPackage(): PackedPackage {
	const directory = mkdtempSync(join(tmpdir(), "pi-subagents-package-"));
	const { files } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { files: string[] };
	for (const file of [...files, "package.json"]) {
		const from = join(ROOT, file);
		if (file !== "dist" && existsSync(from)) cpSync(from, join(directory, file), { recursive: true });
	}
	const build = join(ROOT, "scripts/build.ts");
	execFileSync(process.execPath, ["--disable-warning=ExperimentalWarning", build, join(directory, "dist")]);
	return {
		directory,
		extension: join(directory, "index.js"),
		dispose: () => rmSync(directory, { recursive: true, force: true }),
	};
}
