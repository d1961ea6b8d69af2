import { drop, garbage, status, text, toolCall } from "../test/rig/model-server.ts";
import { brief, type Check, type Finding, fail, pass, saysFailure, unknown, verdict } from "./check.ts";
import type { Shape } from "./shape.ts";
import { type Child, createStage } from "./stage.ts";

const SILENCE = "the model says nothing";
/** That is no failure of the child's, but must not be taken for an answer. */
const NOTHING = /no (text|output|answer|response)|empty/i;

const FAULTS: Readonly<Record<string, Child>> = {
	"provider answers 401": () => status(401),
	"provider answers 500, every time": () => status(500),
	"stream is cut, every time": () => drop(),
	"stream is garbage": () => garbage(),
	[SILENCE]: () => text(""),
};

/** A child that failed must not look like one that answered. */
export const HONESTY: readonly Check[] = Object.entries(FAULTS).map(([name, child]) => ({
	name: `honest: ${name}`,
	async run(extension, shape) {
		const told = await toldOf(extension, shape, child);
		if (!told) return fail("the model was never told anything");
		const says = saysFailure(told) || (name === SILENCE && NOTHING.test(told.text));
		return verdict(says, `${told.isError ? "an error" : "no error"}: "${brief(told.text)}"`);
	},
}));

const ANSWER = "the answer is forty-two: żółć 漢字 🙂 𝕏".repeat(40);
const PLAIN: Child = () => text(ANSWER, { chunkChars: 3, splitBytes: 7 });
const AFTER_TOOL: Child = ({ turn }) =>
	turn === 0 ? toolCall("bash", { command: "echo working" }, { text: "first I look" }) : text(ANSWER);
const LONG = `${"a line of a long answer\n".repeat(1_500)}and its last words`;

/** What a child said reaches whoever asked. */
export const ANSWERS: readonly Check[] = [
	{ name: "answer: whole, though its bytes come in pieces", run: answered(PLAIN, ANSWER) },
	{ name: "answer: the last one, after a tool call", run: answered(AFTER_TOOL, ANSWER) },
	{ name: "answer: the last words of 36 kB", run: answered(() => text(LONG), "and its last words") },
];

function answered(child: Child, expected: string): Check["run"] {
	return async (extension, shape) => {
		const told = await toldOf(extension, shape, child);
		if (!told) return fail("the model was never told anything");
		if (told.text.includes(expected)) return pass(told.isError ? "there, but told as an error" : "there");
		return fail(told.text.includes("\ufffd") ? "broken characters" : `not there: "${brief(told.text)}"`);
	};
}

/** All that the parent's model was told of the delegation, once the parent has ended. */
async function toldOf(
	extension: string,
	shape: Shape,
	child: Child,
): Promise<{ readonly isError: boolean; readonly text: string } | undefined> {
	const stage = await createStage(extension, shape, child);
	try {
		const outcomes = stage.outcomes(await stage.start().done);
		if (outcomes.length === 0) return undefined;
		return { isError: outcomes[0]?.isError === true, text: outcomes.map((each) => each.text).join("\n") };
	} finally {
		await stage.dispose();
	}
}

/** The characters that every request of the parent is longer by. */
export const costOf = (characters: number, tools: readonly string[]): Finding =>
	characters > 0
		? { result: "figure", seen: `${characters} characters, ${tools.length} tools: ${tools.join(", ")}` }
		: unknown("nothing was added");
