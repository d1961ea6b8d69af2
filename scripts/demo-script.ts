import { type ModelRequest, type Reply, text, toolCall, toolCalls } from "../test/rig/model-server.ts";

/** The files of the little project that the demo's agents look at. */
export const DEMO_FILES: Readonly<Record<string, string>> = {
	"README.md": "# Orchard\n\nKeeps track of apple trees: what was planted, watered and picked.\n",
	"src/tree.ts": "export interface Tree {\n\tid: string;\n\tkind: string;\n\tplanted: Date;\n}\n",
	"src/harvest.ts":
		'import type { Tree } from "./tree.ts";\n\n// TODO: weigh by ripeness\nexport const harvest = (trees: Tree[]) => trees.length * 12;\n',
	"src/water.ts": "export const litres = (trees: number, days: number) => trees * days * 4;\n",
	"test/harvest.test.ts":
		'import { harvest } from "../src/harvest.ts";\n\n// TODO: test an empty orchard\nharvest([]);\n',
};

interface Role {
	readonly name: string;
	readonly prompt: string;
	readonly steps: readonly Reply[];
	readonly answer: string;
}

const THINKING_MS = 900;
const step = (name: string, args: unknown, say: string) => toolCall(name, args, { text: say, delayMs: THINKING_MS });

const ROLES: readonly Role[] = [
	{
		name: "map",
		prompt: "Describe how this project is laid out. Answer with one line per directory.",
		steps: [
			step("bash", { command: "find . -name '*.ts' -not -path './.pi/*' | sort" }, "I look at the files first."),
			step("read", { path: "README.md" }, "Then at what the project says of itself."),
		],
		answer: "src/ holds the code: trees, watering, harvest.\ntest/ holds one test, of the harvest.",
	},
	{
		name: "todos",
		prompt: "Find every TODO in this project and say which one matters most.",
		steps: [step("bash", { command: "grep -rn TODO src test" }, "Searching.")],
		answer: "Two TODOs.\nsrc/harvest.ts:3 matters most: without ripeness the harvest is a guess.",
	},
	{
		name: "sizes",
		prompt: "Count the lines of each source file.",
		steps: [
			step("bash", { command: "wc -l src/*.ts" }, "Counting."),
			step("bash", { command: "sleep 2 && wc -c src/*.ts" }, "And the bytes, which takes a moment."),
		],
		answer: "src/tree.ts is the longest file with 5 lines; nothing here is large.",
	},
	{
		name: "review",
		prompt: "Review src/water.ts. Be brief.",
		steps: [
			step("read", { path: "src/water.ts" }, "Reading it."),
			step("bash", { command: "cat src/missing.ts" }, "Is there a caller?"),
		],
		answer: "litres() takes any number: negative days give negative water.\nNothing calls it yet.",
	},
];

/** The demo's model: the parent delegates to four agents, reads their answers and sums up; each agent plays its role. */
export function demoModel(request: ModelRequest): Reply {
	return request.tools.includes("delegate_to_subagents") ? parentReply(request) : childReply(request);
}

function parentReply({ messages }: ModelRequest): Reply {
	const last = messages.at(-1);
	if (last?.role !== "tool") {
		const tasks = ROLES.map(({ name, prompt }) => ({ name, prompt }));
		return toolCall("delegate_to_subagents", { tasks }, { text: "Four agents can look at this at once." });
	}
	const sessions = [...last.text.matchAll(/\(session: ([0-9a-f]{16})\)/g)].map((match) => match[1]);
	if (sessions.length > 0) {
		return toolCalls(
			sessions.map((sessionId) => ({ name: "get_subagent_output", args: { sessionId } })),
			{ text: "All of them are done. Their answers:" },
		);
	}
	return text("That is what four sub-agents found out, each in a pi of its own. Ask again to watch once more.", {
		chunkChars: 6,
		chunkDelayMs: 20,
	});
}

function childReply({ lastUser, turn }: ModelRequest): Reply {
	const role = ROLES.find(({ prompt }) => prompt === lastUser);
	if (!role) return text("I have no part in this play.");
	return role.steps[turn] ?? text(role.answer, { chunkChars: 4, chunkDelayMs: 60, delayMs: THINKING_MS });
}
