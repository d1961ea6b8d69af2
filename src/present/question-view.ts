import type { Theme } from "@earendil-works/pi-coding-agent";
import type { Question } from "../domain/question.ts";
import { expandTabs } from "./fit.ts";
import { panelRows } from "./panel-view.ts";
import { sanitize, sanitizeLine } from "./sanitize.ts";
import { wrapPlain } from "./window-rows.ts";

export interface QuestionPicture {
	/** Of the run that asks. */
	readonly label: string;
	readonly question: Question;
	/** How many others wait. */
	readonly others: number;
	/** Which option; undefined before the person has chosen one. */
	readonly chosen: number | undefined;
	/** Where the text begins that is shown. */
	readonly first: number;
	/** What the person writes in. */
	readonly field: readonly string[];
	readonly width: number;
	readonly height: number;
}

export interface DrawnQuestion {
	readonly rows: string[];
	/** Where it really begins. */
	readonly first: number;
	/** How many rows of the text are shown at a time. */
	readonly room: number;
	readonly isEndShown: boolean;
}

const KEYS: Readonly<Record<Question["kind"], string>> = {
	confirm: "y yes · n no · esc no",
	select: "↑↓ choose · enter take it · esc none of them",
	input: "enter send · esc no answer",
	editor: "enter send · shift+enter new line · esc no answer",
};

/** The frame says who asks: all within it is what a sub-agent's extension wrote. */
export function questionRows(picture: QuestionPicture, theme: Theme): DrawnQuestion {
	const { question, width, height, field } = picture;
	const inner = Math.max(1, width - 4);
	const { rows, chosenAt } = textRows(question, picture.chosen, inner, theme);
	const taken = 2 + (field.length > 0 ? field.length + 1 : 0);
	const room = Math.max(1, Math.min(rows.length, height - taken));
	const last = rows.length - room;
	const wanted = chosenAt === undefined ? picture.first : within(picture.first, chosenAt, room);
	const first = Math.max(0, Math.min(wanted, last));
	const isEndShown = first === last;
	const more = isEndShown ? "" : `${last - first} more rows below`;
	const others = picture.others > 0 ? `${picture.others} more ${picture.others === 1 ? "question" : "questions"}` : "";
	const keys = isEndShown ? KEYS[question.kind] : "PgDn read on: it can be answered at its end · esc no";
	const panel = {
		title: `Sub-agent "${sanitizeLine(picture.label)}" asks`,
		corner: [[more, others].filter((part) => part !== "").join(" · ")],
		body: rows.slice(first, first + room),
		foot: field.length > 0 ? { title: "your answer", rows: field } : undefined,
		keys: [keys],
	};
	return { rows: panelRows(panel, width, theme), first, room, isEndShown };
}

/** The first row that has the chosen one among those that are shown. */
const within = (first: number, row: number, room: number) => Math.min(row, Math.max(first, row - room + 1));

function textRows(question: Question, chosen: number | undefined, width: number, theme: Theme) {
	const wrap = (text: string, columns = width) =>
		sanitize(text)
			.trim()
			.split("\n")
			.flatMap((line) => wrapPlain(expandTabs(line), columns));
	const title = wrap(question.title).map((row) => theme.fg("text", theme.bold(row)));
	if (question.kind === "confirm" && question.message.trim() !== "")
		return { rows: [...title, "", ...wrap(question.message).map((row) => theme.fg("text", row))], chosenAt: undefined };
	if (question.kind !== "select") return { rows: title, chosenAt: undefined };
	const options = question.options.map((option, index) => {
		const isChosen = index === chosen;
		return wrap(option, Math.max(1, width - 2)).map((row, at) =>
			theme.fg(isChosen ? "accent" : "text", `${isChosen && at === 0 ? "▸" : " "} ${row}`),
		);
	});
	const before = options.slice(0, chosen ?? 0).reduce((sum, rows) => sum + rows.length, title.length + 1);
	return { rows: [...title, "", ...options.flat()], chosenAt: chosen === undefined ? undefined : before };
}
