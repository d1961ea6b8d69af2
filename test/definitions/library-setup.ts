import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Catalog, createLibrary, type Library } from "../../src/definitions/catalog.ts";
import type { TrustContext } from "../../src/definitions/trust.ts";
import { FOREIGN_SOURCES } from "../../src/domain/definition.ts";

/** A home with an agent directory and a project, for the loader alone: no pi runs here. */
export interface LibrarySetup {
	readonly root: string;
	readonly agentDirectory: string;
	readonly project: string;
	readonly library: Library;
	/** Moves on with `wait`. */
	wait(ms: number): void;
	/** Relative to the root: `agent/…` is global, `project/…` the project's. */
	write(path: string, text: string | Uint8Array, mode?: number): string;
	load(changes?: Partial<TrustContext>): Catalog;
	dispose(): void;
}

/** Sets HOME of this process: the walk up from a project ends there. */
export function createLibrarySetup(): LibrarySetup {
	const before = process.env.HOME;
	const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-library-")));
	process.env.HOME = root;
	const agentDirectory = join(root, "agent");
	const project = join(root, "project");
	for (const directory of [agentDirectory, project]) mkdirSync(directory);
	let now = 0;
	const library = createLibrary(() => now);
	return {
		root,
		agentDirectory,
		project,
		library,
		wait(ms) {
			now += ms;
		},
		write(path, text, mode = 0o644) {
			const target = join(root, path);
			mkdirSync(dirname(target), { recursive: true });
			writeFileSync(target, text, { mode });
			return target;
		},
		load: (changes = {}) =>
			library.load({
				agentDirectory,
				sources: FOREIGN_SOURCES,
				trust: { ...asked(project, agentDirectory), ...changes },
			}),
		dispose() {
			if (before === undefined) delete process.env.HOME;
			else process.env.HOME = before;
			rmSync(root, { recursive: true, force: true });
		},
	};
}

/** A session in which nobody has said anything about trust. */
const asked = (cwd: string, agentDirectory: string): TrustContext => ({
	cwd,
	agentDirectory,
	isProjectTrusted: true,
	flag: undefined,
	trustsByDefault: false,
});

export const markdown = (name: string, ...lines: readonly string[]): string =>
	`---\nname: ${name}\ndescription: ${name} it is\n${lines.map((line) => `${line}\n`).join("")}---\n\nYou are ${name}.\n`;
