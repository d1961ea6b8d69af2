/**
 * How many agents of a folder can be called, and why the others cannot: `npm run corpus -- <folder>`. The dialect of a file
 * comes from its path, else from its fields. Models are not judged, and tools are judged by those that pi has itself.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { dialectOf, parseForeign } from "../src/definitions/dialects/read-foreign.ts";
import { readFrontmatter } from "../src/definitions/frontmatter.ts";
import { type Parsed, parseDefinition } from "../src/definitions/parse.ts";
import type { DefinitionKind, ForeignSource } from "../src/domain/definition.ts";
import { ownPolicy } from "../src/plan/foreign-tools.ts";

const MAX_BYTES = 1024 * 1024;
const PI = { all: ["read", "bash", "powershell", "edit", "write", "grep", "find", "ls"], active: [], indirect: [] };

const OWN: readonly (readonly [RegExp, DefinitionKind])[] = [
	[/(?:^|\/)agent-profiles\//, "profile"],
	[/(?:^|\/)\.pi\/(?:agent\/)?subagents\//, "preset"],
];
const FOREIGN: readonly (readonly [RegExp, ForeignSource])[] = [
	[/(?:^|\/)\.?claude\//, "claude"],
	[/(?:^|\/)\.?opencode\//, "opencode"],
	[/(?:^|\/)\.?pi\//, "pi"],
	[/(?:^|\/)\.agents\//, "agents"],
];

interface Judged {
	readonly dialect: string;
	readonly verdict: "callable" | "uncallable" | "not offered" | "no agent";
	readonly reason: string;
}

function judge(path: string, text: string): Judged {
	const own = OWN.find(([pattern]) => pattern.test(path))?.[1];
	const fields = readFrontmatter(text);
	const source =
		FOREIGN.find(([pattern]) => pattern.test(path))?.[1] ?? dialectOf(fields?.ok ? fields.value.fields : {});
	const parsed = own ? parseDefinition(text, own) : parseForeign(text, source, path);
	return { dialect: own ?? source, ...verdictOf(parsed) };
}

function verdictOf(parsed: Parsed): Omit<Judged, "dialect"> {
	switch (parsed.kind) {
		case "definition": {
			const tools = ownPolicy(parsed.definition.tools, () => PI);
			return tools.ok ? { verdict: "callable", reason: "" } : { verdict: "uncallable", reason: tools.error };
		}
		case "rejected":
			return { verdict: "uncallable", reason: parsed.problems[0]?.message ?? "" };
		case "not-offered":
			return { verdict: "not offered", reason: parsed.problem.message };
		case "broken":
			return { verdict: "uncallable", reason: parsed.problem.message };
		case "other":
			return { verdict: "no agent", reason: parsed.problem?.message ?? "has no frontmatter of an agent" };
	}
}

const folder = process.argv[2];
if (folder === undefined || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
	process.stderr.write("Usage: npm run corpus -- <folder>\n");
	process.exit(1);
}
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
	.filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
	.map((entry) => join(entry.parentPath, entry.name))
	.filter((path) => !/\/(?:node_modules|\.git)\//.test(path) && statSync(path).size <= MAX_BYTES)
	.sort();
const judged = files.map((path) => {
	const place = relative(folder, path).replaceAll("\\", "/");
	return { path: place, ...judge(place, readFileSync(path, "utf8")) };
});

const out = (line: string) => process.stdout.write(`${line}\n`);
for (const [dialect, all] of [...Map.groupBy(judged, (each) => each.dialect)].sort(([a], [b]) => (a < b ? -1 : 1))) {
	const count = (verdict: Judged["verdict"]) => all.filter((each) => each.verdict === verdict).length;
	const load = all.length - count("no agent");
	out(
		`${dialect}: ${all.length} files, ${load} load, ${count("callable")} can be called, ${count("not offered")} not offered`,
	);
	const reasons = [
		...Map.groupBy(
			all.filter(({ verdict }) => verdict !== "callable"),
			({ reason }) => reason,
		),
	];
	for (const [reason, cases] of reasons.sort(([, a], [, b]) => b.length - a.length)) {
		out(`  ${String(cases.length).padStart(4)}  ${reason}  (${cases[0]?.path})`);
	}
}
out(`${judged.length} files, ${judged.filter(({ verdict }) => verdict === "callable").length} can be called`);
