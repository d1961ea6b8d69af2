import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import {
	cpSync,
	existsSync,
	globSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	realpathSync,
	rmSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import type { RunSpec } from "../../src/domain/spec.ts";
import { startDelegation } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelServer, startModelServer, text } from "../rig/model-server.ts";
import { piCommand, runPi } from "../rig/pi.ts";
import { type LoopbackNpm, startLoopbackNpm } from "./loopback-npm.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const MAX_BYTES_WITHOUT_DOCS = 700_000;

interface PackedFile {
	readonly path: string;
	readonly size: number;
}

/** The checkout as it is now, committed or not, without what is not part of it. */
function copyCheckout(target: string): void {
	const list = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], { cwd: ROOT, encoding: "utf8" });
	for (const file of list.split("\0").filter((name) => name !== "" && existsSync(join(ROOT, name)))) {
		mkdirSync(dirname(join(target, file)), { recursive: true });
		cpSync(join(ROOT, file), join(target, file));
	}
}

/** A repository that git can clone over plain HTTP. Packages are packed anew here, so the lock must not know their sums. */
function makeRepository(source: string, target: string): void {
	const git = (cwd: string, ...args: string[]) =>
		execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", ...args], { cwd, stdio: "ignore" });
	const lock = join(source, "package-lock.json");
	writeFileSync(
		lock,
		readFileSync(lock, "utf8")
			.replace(/^\s*"integrity":.*\n/gm, "")
			.replace(/,(\s*})/g, "$1"),
	);
	git(source, "init", "--quiet", "--initial-branch=main");
	git(source, "add", "--all");
	git(source, "commit", "--quiet", "--message=all");
	git(dirname(target), "clone", "--quiet", "--bare", source, target);
	git(target, "update-server-info");
}

function dependenciesOf(name: string): string[] {
	const manifest = name === "" ? join(ROOT, "package.json") : join(ROOT, "node_modules", name, "package.json");
	const { dependencies = {} } = JSON.parse(readFileSync(manifest, "utf8")) as { dependencies?: Record<string, string> };
	return Object.keys(dependencies).flatMap((each) => [each, ...dependenciesOf(each)]);
}

describe("the package, installed with pi in an empty home", () => {
	let server: ModelServer;
	let npm: LoopbackNpm;
	let root: string;
	let tarball: string;
	let files: readonly PackedFile[];
	const needed = [...new Set(dependenciesOf(""))];

	before(async () => {
		root = realpathSync(mkdtempSync(join(tmpdir(), "pi-install-")));
		const source = join(root, "source");
		copyCheckout(source);
		mkdirSync(join(root, "repositories", "someone"), { recursive: true });
		makeRepository(source, join(root, "repositories", "someone", "pi-subagents"));
		symlinkSync(join(ROOT, "node_modules"), join(source, "node_modules"));
		symlinkSync("nowhere", join(source, "src", ".#usage.ts.lock")); // as an editor leaves it
		const packed = execFileSync("npm", ["pack", "--json", "--pack-destination", root], {
			cwd: source,
			encoding: "utf8",
			stdio: ["ignore", "pipe", "ignore"],
		});
		const [first] = JSON.parse(packed.slice(packed.indexOf("["))) as [{ filename: string; files: PackedFile[] }];
		tarball = join(root, first.filename);
		files = first.files;
		npm = await startLoopbackNpm(needed, join(ROOT, "node_modules"), join(root, "repositories"));
		server = await startModelServer();
	});
	after(async () => {
		await server?.close();
		await npm?.close();
		rmSync(root, { recursive: true, force: true });
	});

	const install = (home: Home, source: string, cwd?: string) => typed(home, ["install", source], cwd);

	/** `pi …`, as a person types it; npm knows no registry but ours. */
	async function typed(home: Home, words: string[], cwd = home.project): Promise<void> {
		const [command = "", ...args] = piCommand(words);
		const env = {
			...home.env,
			PI_OFFLINE: "0",
			npm_config_registry: npm.url,
			npm_config_cache: join(home.root, "npm-cache"),
			npm_config_audit: "false",
			npm_config_fund: "false",
			npm_config_update_notifier: "false",
			GIT_TERMINAL_PROMPT: "0",
		};
		await promisify(execFile)(command, args, { cwd, env, timeout: 60_000 });
	}

	async function delegates(home: Home): Promise<void> {
		const { done } = startDelegation(home, server, {
			extension: undefined,
			args: { tasks: [{ name: "first", prompt: "Say hello." }] },
			child: () => text("hello"),
		});
		const { results, stderr, code } = await done;
		assert.match(results[0]?.text ?? "", /^✓ first: completed \(session: [0-9a-f]{16}\)$/);
		assert.deepEqual([stderr, code], ["", 0]);
	}

	async function works(home: Home): Promise<void> {
		await delegates(home);
		const doctor = await runPi(home, { mode: "text", prompt: "/subagents doctor" }).done;
		assert.match(doctor.stderr, /^Sub-agents: everything is in order\n/);
		const copied = await runPi(home, { mode: "text", prompt: "/profile create finder --from scout" }).done;
		assert.match(copied.stderr, /^Saved global profile "finder"/);
	}

	/** What a run's child was given by the package, from the package's root on. */
	function childExtensions(home: Home): string[] {
		const runs = join(home.project, ".pi/subagents/runs");
		return globSync("*/meta.json", { cwd: runs }).map((meta) => {
			const { invocation } = JSON.parse(readFileSync(join(runs, meta), "utf8")) as RunSpec;
			const path = invocation.args.find((arg) => /extension\.(js|ts)$/.test(arg)) ?? "";
			return path
				.split("/")
				.slice(path.includes("/dist/") ? -2 : -3)
				.join("/");
		});
	}

	const inHome = (name: string, body: (home: Home) => Promise<void>) =>
		test(name, async (t) => {
			const home = createHome(server);
			t.after(() => home.dispose());
			await body(home);
		});

	test("npm pack builds the bundle, and takes only what is needed", () => {
		const top = new Set(files.map(({ path }) => path.split("/")[0]));
		assert.deepEqual([...top].sort(), [
			...["CHANGELOG.md", "LICENSE", "README.md", "dist", "docs", "examples", "index.js", "package.json", "workflows"],
		]);
		const bundle = files.filter(({ path }) => path.startsWith("dist/")).map(({ path }) => path);
		for (const program of ["supervisor", "extension", "pane"]) {
			assert.ok(
				bundle.some((path) => path.startsWith(`dist/${program}.`)),
				program,
			);
		}
		assert.deepEqual(
			files.filter(({ path }) => /\.(ts|map)$/.test(path) && !path.startsWith("examples/")),
			[],
		);
		const isDocument = (path: string) => path.startsWith("docs/") || path === "README.md";
		const bytes = files.filter(({ path }) => !isDocument(path)).reduce((sum, { size }) => sum + size, 0);
		assert.ok(bytes <= MAX_BYTES_WITHOUT_DOCS, `${bytes} bytes without docs`);
	});

	inHome("from the tarball: npm:pi-subagents@file:…", async (home) => {
		await install(home, `npm:pi-subagents@file:${tarball}`);
		assert.deepEqual(
			[...npm.asked].filter((name) => !needed.includes(name)),
			[],
			"no peer is fetched",
		);
		await works(home);
	});

	inHome("from a git repository: pi clones it, and npm adds only its dependencies", async (home) => {
		await install(home, `git:${npm.url}/git/someone/pi-subagents`);
		assert.deepEqual(
			[...npm.asked].filter((name) => !needed.includes(name)),
			[],
			"no peer, nothing for developers",
		);
		await works(home);
		assert.deepEqual(childExtensions(home), ["src/child/extension.ts"], "nothing there can build the bundle");
	});

	inHome(
		"from a local path: a clone with its dependencies, the bundle as long as it is of this source",
		async (home) => {
			await install(home, ".", join(root, "source"));
			const packages = () => JSON.parse(readFileSync(join(home.agentDir, "settings.json"), "utf8")).packages;
			assert.equal(packages().length, 1);
			await works(home);
			assert.deepEqual(childExtensions(home), ["dist/extension.js"]);
			utimesSync(join(root, "source/src/domain/usage.ts"), new Date(), new Date());
			await delegates(home);
			assert.deepEqual(childExtensions(home).sort(), ["dist/extension.js", "src/child/extension.ts"]);
			await typed(home, ["remove", "."], join(root, "source"));
			assert.deepEqual(packages(), []);
		},
	);
});
