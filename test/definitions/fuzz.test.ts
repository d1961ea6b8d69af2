import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import fc from "fast-check";
import { type Catalog, describeDiagnostic } from "../../src/definitions/catalog.ts";
import { parseForeign } from "../../src/definitions/dialects/read-foreign.ts";
import { callable } from "../../src/definitions/lookup.ts";
import { parseDefinition } from "../../src/definitions/parse.ts";
import { DEFINITION_KINDS, FOREIGN_SOURCES } from "../../src/domain/definition.ts";
import { createLibrarySetup, type LibrarySetup, markdown } from "./library-setup.ts";

let setup: LibrarySetup;
beforeEach(() => {
	setup = createLibrarySetup();
});
afterEach(() => setup.dispose());

const names = (catalog: Catalog) => callable(catalog, "profile").map(({ name }) => name);

describe("the loader never throws", () => {
	test("Whatever a file's text is", () => {
		const yaml = fc.array(
			fc.oneof(
				fc.constantFrom(
					"name: x",
					"description: y",
					"tools: [a",
					"tools:",
					"  - b",
					"model: &a b",
					"c: *a",
					"? k",
					"!!js x",
					"<<: *a",
					"{",
					"]",
					"---",
					"...",
					"\t",
					"'",
					'"',
					"| ",
					"%YAML 1.1",
				),
				fc.string({ maxLength: 40 }),
			),
			{ maxLength: 12 },
		);
		const texts = fc.oneof(
			fc.string({ unit: "binary" }),
			yaml.map((lines) => `---\n${lines.join("\n")}\n---\nbody`),
			fc.json().map((json) => `---\n${json}\n---\n`),
		);
		fc.assert(
			fc.property(texts, fc.constantFrom(...DEFINITION_KINDS), (text, kind) => {
				const parsed = parseDefinition(text, kind);
				if (parsed.kind === "definition") assert.match(parsed.definition.name, /^[a-zA-Z0-9_-]+$/);
			}),
			{ numRuns: 2_000 },
		);
	});

	test("Whatever the fields of a foreign file are, it has a name, and none has a tool that its file denies", () => {
		const field = fc.constantFrom(
			...["name", "description", "tools", "disallowedTools", "model", "permission", "permissionMode", "hooks", "mode"],
			...["effort", "maxTurns", "isolation", "extensions", "skills", "prompt_mode", "timeoutMs", "readonly", "color"],
		);
		const fields = fc.dictionary(field, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 6 });
		fc.assert(
			fc.property(fields, fc.constantFrom(...FOREIGN_SOURCES), (given, source) => {
				const text = `---\n${JSON.stringify({ ...given, disallowedTools: ["bash"] })}\n---\nbody`;
				const parsed = parseForeign(text, source, "/x/some file.md");
				if (parsed.kind !== "definition") return;
				assert.match(parsed.definition.name, /^[a-zA-Z0-9_-]+$/);
				const { tools } = parsed.definition;
				assert.ok(tools.kind !== "inherit" && tools.kind !== "deny");
				if (tools.kind === "deny-known") assert.ok(tools.names.includes("bash") && tools.names.includes("powershell"));
				if (tools.kind === "allow-known") assert.ok(!tools.names.includes("bash"));
			}),
			{ numRuns: 2_000 },
		);
	});

	test("Random bytes, of any length, beside a good file", () => {
		setup.write("agent/agent-profiles/good.md", markdown("good"));
		fc.assert(
			fc.property(fc.uint8Array({ maxLength: 4_096 }), fc.boolean(), (bytes, framed) => {
				const frame = framed ? [Buffer.from("---\nname: x\n"), bytes, Buffer.from("\n---\n")] : [bytes];
				setup.write("agent/agent-profiles/random.md", Buffer.concat(frame));
				setup.library.invalidate();
				assert.ok(names(setup.load()).includes("good"));
			}),
			{ numRuns: 100 },
		);
	});

	test("Deep and hostile YAML costs little (S25)", () => {
		const hostile = [
			"[".repeat(30_000),
			"{a: ".repeat(7_000),
			'"'.repeat(30_000),
			"&a ".repeat(10_000),
			"- ".repeat(15_000),
			`${"a: &x [1]\n".repeat(1)}${Array.from(
				{ length: 12 },
				(_, at) => `b${at}: &b${at} [${`*b${at - 1},`.repeat(9)}]`,
			)
				.join("\n")
				.replaceAll("*b-1", "*x")}`,
		];
		setup.write("agent/agent-profiles/good.md", markdown("good"));
		for (const [at, yaml] of hostile.entries())
			setup.write(`agent/agent-profiles/h${at}.md`, `---\nname: h${at}\nx: ${yaml}\n---\n`);
		const started = process.cpuUsage();
		const catalog = setup.load();
		assert.ok(names(catalog).includes("good"));
		const { user, system } = process.cpuUsage(started); // a busy machine must not fail this
		assert.ok(user + system < 10_000_000);
		assert.ok(catalog.diagnostics.length >= 5, catalog.diagnostics.map(describeDiagnostic).join("\n"));
	});

	test("What is larger than 1 MB is a diagnostic, not read (S25)", () => {
		setup.write("agent/agent-profiles/big.md", markdown("big") + "x".repeat(10 * 1024 * 1024));
		setup.write("agent/agent-profiles/body.md", markdown("body") + "x".repeat(900 * 1024));
		setup.write("agent/agent-profiles/head.md", `---\nname: head\nx: "${"y".repeat(40 * 1024)}"\n---\n`);
		const catalog = setup.load();
		assert.deepEqual(names(catalog), ["body"]);
		assert.deepEqual(
			catalog.diagnostics.map(({ message }) => message),
			["is larger than 1024 KB", "the frontmatter is longer than 32 KB"],
		);
	});

	test("Fifos, devices and sockets are neither opened nor waited for", () => {
		const directory = join(setup.agentDirectory, "agent-profiles");
		mkdirSync(directory);
		execFileSync("mkfifo", [join(directory, "fifo.md")]);
		symlinkSync("/dev/zero", join(directory, "zero.md"));
		setup.write("agent/agent-profiles/good.md", markdown("good"));
		const catalog = setup.load();
		assert.deepEqual(names(catalog), ["good"]);
		assert.deepEqual(
			catalog.diagnostics.map(({ message }) => message),
			["is not a file", "is not a file"],
		);
	});

	test("A directory that is a file, or may not be read, holds nothing", () => {
		setup.write("agent/agent-profiles", "not a directory");
		setup.write("project/.pi", "neither");
		assert.deepEqual(setup.load().diagnostics, []);
	});
});

describe("X29: nothing outside of a project is ever read through its directories", () => {
	test("Whatever links there are, a definition is loaded only if its file lies inside (S26)", () => {
		setup.write("outside/secret.md", markdown("secret"));
		setup.write("project/inside/fine.md", markdown("fine"));
		const target = fc.constantFrom(
			"../../../outside/secret.md",
			"../../../outside",
			"../../inside/fine.md",
			"loop.md",
			"a.md",
			"b.md",
			"/etc/passwd",
			"/proc/self/environ",
			"..",
			"../../..",
			".",
		);
		fc.assert(
			fc.property(fc.array(target, { maxLength: 4 }), fc.nat(1_000_000), (targets, unique) => {
				const project = `project-${unique}`;
				const directory = join(setup.root, project, ".pi", "agent-profiles");
				mkdirSync(directory, { recursive: true });
				mkdirSync(join(setup.root, project, "inside"), { recursive: true });
				writeFileSync(join(setup.root, project, "inside", "fine.md"), markdown("fine"));
				for (const [at, path] of targets.entries()) {
					try {
						symlinkSync(path, join(directory, `${"abcd"[at]}.md`));
					} catch {
						// the same number came twice
					}
				}
				const loaded = names(setup.load({ cwd: join(setup.root, project) }));
				assert.deepEqual(
					loaded.filter((name) => name !== "fine"),
					[],
				);
			}),
			{ numRuns: 100 },
		);
	});
});
