import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createHome } from "../test/rig/home.ts";
import {
	hang,
	type ModelRequest,
	type Reply,
	startModelServer,
	text,
	toolCall,
	toolCalls,
} from "../test/rig/model-server.ts";
import { startPiTerminal } from "../test/rig/pi-terminal.ts";
import { terminalSvg } from "./terminal-svg.ts";

/** The picture in the README: the real pi in a terminal, while it has four sub-agents at work. `npm run screenshot` */
const ROOT = join(import.meta.dirname, "..");
const COLUMNS = 110;
const ROWS = 40;
const TOOL = "delegate_to_subagents";
const PROMPT = "Bring the harvest up to date, and tell me what else is wrong.";

interface Role {
	readonly profile: string;
	readonly steps: readonly Reply[];
	/** What it is doing when the picture is taken. */
	readonly last: Reply;
}

const step = (name: string, args: unknown, say?: string): Reply =>
	toolCall(name, args, { ...(say === undefined ? {} : { text: say }), usage: { input: 4_180, output: 230 } });

const ROLES: Readonly<Record<string, Role>> = {
	"map the code": {
		profile: "scout",
		steps: [
			step("ls", { path: "src/" }, "I look at what is there first."),
			step("ls", { path: "test/" }),
			step("read", { path: "src/harvest.ts", limit: 40 }),
		],
		last: text(
			"src/ holds the code, test/ one test of the harvest.\nThe harvest is the heart of it: everything else feeds it.",
			{
				usage: { input: 4_900, output: 310 },
			},
		),
	},
	"weigh by ripeness": {
		profile: "worker",
		steps: [
			step("read", { path: "src/harvest.ts" }),
			step(
				"edit",
				{
					path: "src/harvest.ts",
					edits: [
						{ oldText: "trees.length * 12", newText: "trees\n\t.map(ripeness)\n\t.reduce(sum, 0)" },
						{ oldText: "export const", newText: "/** Kilograms */\nexport const" },
					],
				},
				"The weight of a tree depends on how ripe it is.",
			),
		],
		last: hang({
			text: "Now every tree counts with its own weight.\nNext I run the tests, since three callers rely on the old numb",
		}),
	},
	"test an empty orchard": {
		profile: "worker",
		steps: [
			step("write", {
				path: "test/empty.test.ts",
				content:
					'import { harvest } from "../src/harvest.ts";\n\ntest("an empty orchard", () => {\n\tharvest([]);\n});\n',
			}),
			step("bash", {
				command: "sleep 120; node --test test/empty.test.ts test/harvest.test.ts 2>&1 | tail -20",
			}),
		],
		last: hang(),
	},
	"review the watering": {
		profile: "reviewer",
		steps: [step("read", { path: "src/tree.ts" }), step("read", { path: "src/water.ts", offset: 1, limit: 30 })],
		last: hang({
			text: "litres() takes any number: with negative days the trees give water back, which no orchard does.\nI would refuse them where the days are read, and n",
		}),
	},
};

const PROFILES: Readonly<Record<string, string>> = {
	scout: "name: scout\nthinkingLevel: low\ntools: read, ls, find, grep",
	worker: "name: worker\nthinkingLevel: medium",
	reviewer: "name: reviewer\nthinkingLevel: high\ntools: read, ls, find, grep",
};

const FILES: Readonly<Record<string, string>> = {
	"src/tree.ts": "export interface Tree {\n\tid: string;\n}\n",
	"src/harvest.ts": "export const harvest = (trees: Tree[]) => trees.length * 12;\n",
	"src/water.ts": "export const litres = (trees: number, days: number) => trees * days * 4;\n",
	"src/report/table.ts": "export {};\n",
	"test/harvest.test.ts": "harvest([]);\n",
};

function answer(request: ModelRequest): Reply {
	if (request.tools.includes(TOOL)) {
		const tasks = Object.entries(ROLES).map(([name, { profile }]) => ({ name, profile, prompt: name }));
		return toolCalls([{ name: TOOL, args: { tasks } }], { text: "Four things can be done at the same time." });
	}
	const role = ROLES[request.lastUser];
	if (!role) throw new Error(`nobody plays ${JSON.stringify(request.lastUser)}`);
	return role.steps[request.turn] ?? role.last;
}

const server = await startModelServer(answer);
const home = createHome(server, { env: { COLORTERM: "truecolor" } });
for (const [path, content] of Object.entries(FILES)) home.write(path, content);
for (const [name, head] of Object.entries(PROFILES)) {
	home.write(join(home.agentDir, "agent-profiles", `${name}.md`), `---\n${head}\n---\nYou are a ${name}.\n`);
}
const terminal = await startPiTerminal(home, { columns: COLUMNS, rows: ROWS, extension: join(ROOT, "index.js") });
try {
	await terminal.type(PROMPT);
	await terminal.sendKeys("Enter");
	await terminal.waitFor(/3 running · 1 done[\s\S]*old numb[\s\S]*node --test[\s\S]*and n\b/, 30_000);
	await terminal.waitFor(/weigh by ripeness .* (?:[3-9]|\d\d)s/);
	const rows = (await terminal.capture({ ansi: true })).split("\n");
	// What pi says about the machine it starts on is not part of the picture.
	const first = Math.max(0, rows.findIndex((row) => row.includes(PROMPT)) - 1);
	const screen = rows.slice(first);
	mkdirSync(join(ROOT, "docs"), { recursive: true });
	writeFileSync(join(ROOT, "docs", "screenshot.svg"), terminalSvg(screen, COLUMNS));
	console.log("docs/screenshot.svg");
} finally {
	await terminal.dispose();
	await server.close();
	home.dispose();
}
