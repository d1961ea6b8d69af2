import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { NO_RECEIPTS } from "./no-receipts.ts";

export interface HomeOptions {
	/** Merged over the rig's settings.json, one level deep. */
	settings?: Record<string, unknown>;
	/** Merged over the two models' entries. */
	model?: Record<string, unknown>;
	/** More providers for models.json. */
	providers?: Record<string, unknown>;
	/** Added to `env`. */
	env?: Record<string, string>;
}

export interface Home {
	/** HOME; everything else lies below it. */
	root: string;
	agentDir: string;
	/** TMPDIR; holds links to the shared caches `node-compile-cache` and `jiti` and nothing else at first. */
	temporary: string;
	/** The directory pi is started in. */
	project: string;
	/** The whole environment for a pi of this home. */
	env: Record<string, string>;
	/** Writes below the project (or to an absolute path inside the home) and gives the absolute path back. */
	write(path: string, text: string): string;
	dispose(): void;
}

export const MOCK_PROVIDER = "mock";
export const MOCK_API_KEY = "rig-key-0123456789abcdef";

// Caches of compiled code: without them every pi of every home starts cold, up to seconds later.
const SHARED_CACHES = ["node-compile-cache", "jiti"];
const NODE_BIN = dirname(process.execPath);

export function createHome(server: { url: string }, options: HomeOptions = {}): Home {
	const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-rig-")));
	const agentDir = join(root, "agent");
	const project = join(root, "project");
	const temporary = join(root, "tmp");
	for (const directory of [agentDir, project, temporary]) mkdirSync(directory);
	for (const name of SHARED_CACHES) shareCache(temporary, name);
	writeJson(join(agentDir, "models.json"), modelsFile(server.url, options));
	writeJson(join(agentDir, "settings.json"), settingsFile(options));
	return {
		root,
		agentDir,
		temporary,
		project,
		env: environment({ root, agentDir, temporary }, options),
		write: (path, text) => {
			const target = resolve(project, path);
			if (!target.startsWith(`${root}/`)) throw new Error(`${path} is outside of the test's home.`);
			mkdirSync(dirname(target), { recursive: true });
			writeFileSync(target, text);
			return target;
		},
		dispose: () => removeTree(root),
	};
}

/** After a test that failed something may still write here. What other hooks have to end matters more than what is left. */
function removeTree(root: string): void {
	try {
		rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
	} catch {
		process.stderr.write(`${root} could not be removed\n`);
	}
}

function shareCache(temporary: string, name: string): void {
	const shared = join(tmpdir(), name);
	mkdirSync(shared, { recursive: true });
	symlinkSync(shared, join(temporary, name));
}

function environment(
	places: { root: string; agentDir: string; temporary: string },
	options: HomeOptions,
): Record<string, string> {
	return {
		// The Node that runs the tests comes first: pi does not start on an older one.
		PATH: `${NODE_BIN}:/usr/local/bin:/usr/bin:/bin`,
		HOME: places.root,
		TMPDIR: places.temporary,
		PI_CODING_AGENT_DIR: places.agentDir,
		PI_OFFLINE: "1",
		PI_TELEMETRY: "0",
		PI_SKIP_VERSION_CHECK: "1",
		LANG: "C.UTF-8",
		TERM: "xterm-256color",
		...options.env,
	};
}

function modelsFile(url: string, options: HomeOptions): unknown {
	const shared = {
		reasoning: true,
		input: ["text"],
		contextWindow: 128_000,
		maxTokens: 8_192,
		cost: { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 0 },
		...options.model,
	};
	const models = ["mock-1", "mock-2"].map((id) => ({ id, name: id, ...shared }));
	const mock = { baseUrl: url, api: "openai-completions", apiKey: MOCK_API_KEY, models };
	return { providers: { [MOCK_PROVIDER]: mock, ...options.providers } };
}

function settingsFile(options: HomeOptions): unknown {
	return {
		defaultProvider: MOCK_PROVIDER,
		defaultModel: "mock-1",
		defaultThinkingLevel: "off",
		quietStartup: true,
		enableInstallTelemetry: false,
		retry: { enabled: true, maxRetries: 3, baseDelayMs: 1, maxAgentDelayMs: 5 },
		...options.settings,
		subagents: { ...NO_RECEIPTS.subagents, ...(options.settings?.subagents as object | undefined) },
	};
}

function writeJson(path: string, value: unknown): void {
	writeFileSync(path, `${JSON.stringify(value, null, "\t")}\n`);
}
