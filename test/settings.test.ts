import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { TrustContext } from "../src/definitions/trust.ts";
import { loadSettings } from "../src/settings/settings.ts";

const DEFAULTS = {
	maxLinesPerWindow: 15,
	commandPreviewWidth: 160,
	idleGraceSeconds: 30,
	repeatedCalls: 5,
	inheritModel: true,
	families: ["delegate", "subagent", "background"],
	runner: "process",
	keepPanes: false,
	maxConcurrency: 4,
	maxBackground: 16,
	maxRunsPerSession: 100,
	timeout: undefined,
	headStart: true,
	writeGuard: true,
	leftovers: "end",
	isolation: "none",
	changes: "branch",
	outputLimit: 51_200,
	runRetentionDays: 14,
	maxRuns: 200,
	wrapUpSeconds: 30,
	announce: "quiet",
	waitInPrintMode: true,
	printModeTimeout: 3_600,
	questions: "ask",
	questionTimeout: 600,
	runsIn: "home",
	receipts: true,
	fleetKey: "alt+a",
	maxTokens: undefined,
	maxCost: undefined,
	maxTurns: undefined,
	maxSessionTokens: undefined,
	maxSessionCost: undefined,
	fallbackModels: [],
	maxInFlight: {},
	refusal: undefined,
	definitionSources: ["pi", "agents", "claude", "opencode"],
};

describe("settings", () => {
	let root: string;
	let project: string;
	const person = () => join(root, "agent", "settings.json");
	const ofProject = () => join(project, ".pi", "settings.json");

	beforeEach(() => {
		root = realpathSync(mkdtempSync(join(tmpdir(), "pi-settings-")));
		project = join(root, "project");
		mkdirSync(project);
		mkdirSync(join(root, "agent"));
	});
	afterEach(() => rmSync(root, { recursive: true, force: true }));

	const write = (path: string, value: unknown) => {
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
	};
	const loadAll = (trust: Partial<TrustContext> = {}) =>
		loadSettings(join(root, "agent"), {
			cwd: project,
			agentDirectory: join(root, "agent"),
			isProjectTrusted: true,
			flag: undefined,
			trustsByDefault: false,
			...trust,
		});
	const load = (trust: Partial<TrustContext> = {}) => {
		const { settings, warnings } = loadAll(trust);
		return { settings, warnings };
	};

	test("Without any file these are the values (A157, A158, A160, X19)", () => {
		assert.deepEqual(loadAll(), { settings: DEFAULTS, warnings: [], origins: new Map() });
	});
	test("A project can only lower a limit, and a limit that cannot be read refuses every run (X37, X39)", () => {
		write(person(), { subagents: { maxTokens: 1_000, maxCost: 0.5 } });
		write(ofProject(), { subagents: { maxTokens: 2_000, maxCost: 0.25, maxTurns: 3 } });
		const { settings, warnings } = load();
		assert.deepEqual([settings.maxTokens, settings.maxCost, settings.maxTurns], [1_000, 0.25, 3]);
		assert.deepEqual([settings.refusal, warnings.length], [undefined, 1]);
		const { origins } = loadAll();
		assert.deepEqual(
			["maxTokens", "maxCost", "maxTurns", "timeout"].map((key) => origins.get(key)),
			[person(), ofProject(), ofProject(), undefined],
		);
		assert.match(warnings[0] ?? "", /subagents\.maxTokens cannot be loosened by a project; 1000 is used$/);
		for (const bad of [-5, 0, "2k", null, 1.5]) {
			write(ofProject(), { subagents: { maxTokens: bad } });
			const broken = load();
			assert.equal(broken.settings.maxTokens, 1_000, String(bad));
			assert.match(
				broken.settings.refusal ?? "",
				/subagents\.maxTokens must be a whole number above 0: no sub-agent is started/,
			);
		}
	});

	test("The person's values, then the project's, key by key (A157)", () => {
		write(person(), { subagents: { maxLinesPerWindow: 20, looping_tool_count: 7, maxConcurrency: 2 } });
		write(ofProject(), { subagents: { maxLinesPerWindow: 30, extend_timeout_debounce: 10 } });
		const { settings, warnings } = load();
		assert.deepEqual(settings, {
			...DEFAULTS,
			maxLinesPerWindow: 30,
			repeatedCalls: 7,
			idleGraceSeconds: 10,
			maxConcurrency: 2,
		});
		assert.deepEqual(warnings, []);
	});

	test("Numbers are kept within their ranges (A63, A67, A159)", () => {
		const ranges: [string, keyof typeof DEFAULTS, number, number][] = [
			["extend_timeout_debounce", "idleGraceSeconds", 0, 300],
			["looping_tool_count", "repeatedCalls", 0, 50],
			["maxLinesPerWindow", "maxLinesPerWindow", 1, 500],
		];
		for (const [key, name, min, max] of ranges) {
			for (const [given, taken] of [
				[-1e9, min],
				[min, min],
				[max, max],
				[max + 0.5, max],
				[1e9, max],
			] as const) {
				write(person(), { subagents: { [key]: given } });
				assert.equal(load().settings[name], taken, `${key} ${given}`);
			}
		}
		write(person(), { subagents: { commandPreviewWidth: 3 } });
		assert.equal(load().settings.commandPreviewWidth, 20);
	});

	test("A number out of its range falls back to the default, with a warning (X19)", () => {
		const keys = {
			maxConcurrency: [0, 17],
			maxBackground: [0, 1_001],
			maxRunsPerSession: [0],
			outputLimit: [-5, 1e9],
			runRetentionDays: [-1],
			maxRuns: [-1],
		};
		for (const [key, values] of Object.entries(keys)) {
			for (const value of values) {
				write(person(), { subagents: { [key]: value } });
				const { settings, warnings } = load();
				assert.deepEqual([settings, warnings.length], [DEFAULTS, 1], `${key} ${value}`);
			}
		}
		write(person(), { subagents: { maxConcurrency: 16 } });
		assert.equal(load().settings.maxConcurrency, 16);
	});

	test("A bad value of a project gives the default, not the person's value [X19]", () => {
		write(person(), { subagents: { maxLinesPerWindow: 20, inheritModel: false } });
		write(ofProject(), { subagents: { maxLinesPerWindow: "many", inheritModel: "no" } });
		const { settings, warnings } = load({ flag: "approve" });
		assert.deepEqual([settings.maxLinesPerWindow, settings.inheritModel], [15, true]);
		assert.match(warnings[0] ?? "", /project\/\.pi\/settings\.json: subagents\.maxLinesPerWindow .*; 15 is used$/);
		assert.equal(warnings.length, 2);
	});

	test("A timeout that is none is no timeout, with a warning (X15, X19)", () => {
		for (const timeout of [0, 86_401, "10", null, -1]) {
			write(person(), { subagents: { timeout } });
			const { settings, warnings } = load();
			assert.equal(settings.timeout, undefined);
			assert.equal(warnings.length, 1);
		}
		write(person(), { subagents: { timeout: 86_400 } });
		assert.equal(load().settings.timeout, 86_400);
	});

	test("A bad value falls back to the default with one warning that names file, key and default (A161, X19)", () => {
		const bad = {
			maxLinesPerWindow: "20",
			extend_timeout_debounce: null,
			inheritModel: "no",
			families: ["delegate", "all"],
			runner: "screen",
			leftovers: true,
			maxConcurrency: {},
		};
		write(person(), { subagents: bad });
		const { settings, warnings } = load();
		assert.deepEqual(settings, DEFAULTS);
		assert.equal(warnings.length, Object.keys(bad).length);
		for (const key of Object.keys(bad)) {
			assert.equal(warnings.filter((each) => each.startsWith(`${person()}: subagents.${key} `)).length, 1, key);
		}
		assert.match(warnings.find((each) => each.includes("maxConcurrency")) ?? "", / 4 is used$/);
	});

	test("Unknown keys, here and elsewhere in the file, are tolerated; so is a byte order mark (A161)", () => {
		write(person(), `\uFEFF${JSON.stringify({ theme: "dark", subagents: { later: 1, maxRuns: 5 } })}`);
		assert.deepEqual(load(), { settings: { ...DEFAULTS, maxRuns: 5 }, warnings: [] });
	});

	test("A file that is no JSON, or whose key is no object, gives the defaults and a warning (A161)", () => {
		for (const content of ["{", '"text"', { subagents: [] }, { subagents: 7 }, { subagents: null }]) {
			write(person(), content);
			const { settings, warnings } = load();
			assert.deepEqual(settings, DEFAULTS);
			assert.equal(warnings.length, 1);
			assert.ok(warnings[0]?.startsWith(person()));
		}
	});

	test("Families keep their order, twice is once, and none is allowed (X11)", () => {
		write(person(), { subagents: { families: ["background", "delegate", "delegate"] } });
		assert.deepEqual(load().settings.families, ["delegate", "background"]);
		write(person(), { subagents: { families: [] } });
		assert.deepEqual(load().settings.families, []);
	});

	test("A project that is not trusted sets nothing, and one notice says so (X12, A162, W23)", () => {
		write(person(), { subagents: { maxRuns: 5 } });
		write(ofProject(), { subagents: { maxRuns: 9, leftovers: "keep" } });
		for (const trust of [{ isProjectTrusted: false }, { flag: "no-approve" as const }]) {
			const { settings, warnings } = load(trust);
			assert.deepEqual(settings, { ...DEFAULTS, maxRuns: 5 });
			assert.equal(warnings.length, 1);
			assert.match(warnings[0] ?? "", /not trusted/);
		}
		assert.equal(load({ flag: "approve", isProjectTrusted: true }).settings.maxRuns, 9);
		write(ofProject(), { theme: "dark" });
		assert.deepEqual(load({ isProjectTrusted: false }).warnings, []);
	});

	test("A project can switch receipts on, and not off (X39)", () => {
		write(ofProject(), { subagents: { receipts: false } });
		const { settings, warnings } = load();
		assert.equal(settings.receipts, true);
		assert.match(warnings[0] ?? "", /subagents\.receipts cannot be loosened by a project; true is used$/);
		write(person(), { subagents: { receipts: false } });
		assert.equal(load().settings.receipts, false);
		write(ofProject(), { subagents: { receipts: true } });
		assert.equal(load().settings.receipts, true);
	});

	test("Isolation: a project can ask for it, trusted or not asked about, and cannot take it away (X19)", () => {
		write(ofProject(), { subagents: { isolation: "pid-namespace" } });
		assert.deepEqual(load(), { settings: { ...DEFAULTS, isolation: "pid-namespace" }, warnings: [] });
		write(person(), { subagents: { isolation: "pid-namespace" } });
		write(ofProject(), { subagents: { isolation: "none" } });
		const { settings, warnings } = load({ flag: "approve" });
		assert.equal(settings.isolation, "pid-namespace");
		assert.match(
			warnings.join("\n"),
			/^.*subagents\.isolation cannot be loosened by a project; "pid-namespace" is used$/,
		);
	});

	test("Isolation is ordered: none, pid-namespace, worktree; a project goes up and never down [X39]", () => {
		const levels = ["none", "pid-namespace", "worktree"];
		for (const [mine, ofPerson] of levels.entries()) {
			for (const [theirs, asked] of levels.entries()) {
				write(person(), { subagents: { isolation: ofPerson } });
				write(ofProject(), { subagents: { isolation: asked } });
				const { settings, warnings } = load({ flag: "approve" });
				assert.equal(settings.isolation, levels[Math.max(mine, theirs)]);
				assert.equal(warnings.length, theirs < mine ? 1 : 0);
			}
		}
	});

	test("No run starts with an isolation that is none, whoever asked for it [X37]", () => {
		const refusal = /subagents\.isolation must be "none" or "pid-namespace" or "worktree": no sub-agent is started/;
		for (const who of [person, ofProject]) {
			for (const path of [person(), ofProject()]) write(path, {});
			write(who(), { subagents: { isolation: "full" } });
			assert.match(load({ flag: "approve" }).settings.refusal ?? "", refusal);
		}
	});

	test("A project can shorten the person's time limit but not lengthen it [X39]", () => {
		write(ofProject(), { subagents: { timeout: 600 } });
		assert.deepEqual(load(), { settings: { ...DEFAULTS, timeout: 600 }, warnings: [] });
		for (const [ofPerson, asked, used, warned] of [
			[900, 600, 600, 0],
			[300, 600, 300, 1],
			[300, "long", 300, 1],
		] as const) {
			write(person(), { subagents: { timeout: ofPerson } });
			write(ofProject(), { subagents: { timeout: asked } });
			const { settings, warnings } = load({ flag: "approve" });
			assert.deepEqual([settings.timeout, warnings.length], [used, warned], `${ofPerson} and ${asked}`);
		}
	});

	test("A project can have questions denied, or sooner, but cannot have them asked where the person denies them [X39]", () => {
		write(ofProject(), { subagents: { questions: "deny", questionTimeout: 60 } });
		assert.deepEqual(load(), { settings: { ...DEFAULTS, questions: "deny", questionTimeout: 60 }, warnings: [] });
		write(person(), { subagents: { questions: "deny", questionTimeout: 30 } });
		write(ofProject(), { subagents: { questions: "ask", questionTimeout: 900 } });
		const { settings, warnings } = load({ flag: "approve" });
		assert.deepEqual([settings.questions, settings.questionTimeout, warnings.length], ["deny", 30, 2]);
	});

	test("Settings that are the person's alone are ignored in a project, trusted or not, with a warning [X39]", () => {
		write(ofProject(), { subagents: { runner: "tmux", runsIn: "project" } });
		const { settings, warnings } = load({ flag: "approve" });
		assert.deepEqual(settings, DEFAULTS);
		assert.deepEqual(
			warnings.map((each) => each.replace(ofProject(), "")),
			["runner", "runsIn"].map((key) => `: subagents.${key} is ignored: only your own settings can set it`),
		);
		write(ofProject(), {});
		write(person(), { subagents: { runner: "tmux", runsIn: "project" } });
		assert.deepEqual(load(), { settings: { ...DEFAULTS, runner: "tmux", runsIn: "project" }, warnings: [] });
	});

	test("The nearest ancestor's settings count, by the trust in that directory (X12, X19)", () => {
		write(ofProject(), { subagents: { maxRuns: 9 } });
		const below = join(project, "a", "b");
		mkdirSync(below, { recursive: true });
		// pi has nothing to ask about in the sub-directory, so its own answer says nothing about the project.
		const asked = load({ cwd: below });
		assert.equal(asked.settings.maxRuns, 200);
		assert.equal(asked.warnings.length, 1);
		assert.equal(load({ cwd: below, trustsByDefault: true }).settings.maxRuns, 9);
		write(join(root, "agent", "trust.json"), { [project]: true });
		assert.equal(load({ cwd: below }).settings.maxRuns, 9);
		write(join(root, "agent", "trust.json"), { [project]: false });
		assert.equal(load({ cwd: below, trustsByDefault: true }).settings.maxRuns, 200);
	});
});
