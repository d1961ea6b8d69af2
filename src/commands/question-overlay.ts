import type { ExtensionAPI, ExtensionContext, Theme } from "@earendil-works/pi-coding-agent";
import { Editor, Input, type KeyId, matchesKey, type TUI } from "@earendil-works/pi-tui";
import type { Question, Reply } from "../domain/question.ts";
import { unreachable } from "../domain/result.ts";
import { type DrawnQuestion, questionRows } from "../present/question-view.ts";
import { sanitize, sanitizeLine } from "../present/sanitize.ts";
import { createQuestions, type OpenQuestion, type Questions } from "../session/questions.ts";

/** Whoever types while the overlay opens answers nothing with it; each key starts this time again. */
const DEAF_MS = 400;

/** The questions of whatever session this process is in at the moment; between two sessions all are denied. */
export function askPerson(pi: ExtensionAPI, session: () => ExtensionContext | undefined): Questions {
	let stopListening = () => {};
	const questions = createQuestions({
		async show(open, others, signal) {
			const context = session();
			return context ? await showQuestion(context, open, others, signal) : null;
		},
		onAway() {
			stopListening();
			stopListening = session()?.ui.onTerminalInput(() => void here()) ?? stopListening;
		},
	});
	const here = () => {
		stopListening();
		stopListening = () => {};
		questions.keyPressed();
	};
	pi.on("input", here); // what an RPC client has instead of keys
	return questions;
}

/** Has the person answer a question: in an overlay that leaves the editor alone, or by the dialogs of an RPC client. */
export async function showQuestion(
	context: ExtensionContext,
	open: OpenQuestion,
	others: () => number,
	signal: AbortSignal,
): Promise<Reply> {
	if (context.mode !== "tui") return await Promise.race([showDialog(context, open, signal), aborted(signal)]);
	return await context.ui.custom<Reply>(
		(tui, theme, _keybindings, done) => {
			if (signal.aborted) done(null);
			signal.addEventListener("abort", () => done(null), { once: true });
			return createQuestionPanel(open, { tui, theme, others, done });
		},
		// At the top: what the agents do is shown above the editor.
		{ overlay: true, overlayOptions: { width: "100%", maxHeight: "100%", anchor: "top-center" } },
	);
}

const aborted = (signal: AbortSignal): Promise<null> =>
	new Promise((resolve) => {
		if (signal.aborted) resolve(null);
		signal.addEventListener("abort", () => resolve(null), { once: true });
	});

/** The same dialog as in a pi without sub-agents, with the run's name before the child's words. */
async function showDialog(
	{ ui }: ExtensionContext,
	{ run, question }: OpenQuestion,
	signal: AbortSignal,
): Promise<Reply> {
	const title = `[${sanitizeLine(run.label)}] ${sanitize(question.title)}`;
	switch (question.kind) {
		case "confirm":
			return await ui.confirm(title, sanitize(question.message), { signal });
		case "select": {
			const shown = distinct(question.options);
			const chosen = await ui.select(title, shown, { signal });
			return chosen === undefined ? null : (question.options[shown.indexOf(chosen)] ?? null);
		}
		case "input":
			return (await ui.input(title, sanitizeLine(question.placeholder), { signal })) ?? null;
		case "editor":
			return (await ui.editor(title, sanitize(question.prefill))) ?? null;
		default:
			return unreachable(question);
	}
}

/** An answer is found again by what was shown. */
function distinct(options: readonly string[]): string[] {
	const shown = options.map(sanitizeLine);
	return new Set(shown).size === shown.length ? shown : shown.map((option, index) => `${index + 1}. ${option}`);
}

interface Surroundings {
	readonly tui: Pick<TUI, "requestRender">;
	readonly theme: Theme;
	/** How many other questions wait. */
	others(): number;
	done(reply: Reply): void;
	readonly rowsOfScreen?: () => number;
}

export interface QuestionPanel {
	render(width: number): string[];
	handleInput(data: string): void;
	invalidate(): void;
}

/** No key says yes by accident: there is no default, the first keys are passed over, and all of the text was on the screen. */
export function createQuestionPanel({ question, run }: OpenQuestion, surroundings: Surroundings): QuestionPanel {
	const { tui, theme, others, done, rowsOfScreen = () => process.stdout.rows ?? 24 } = surroundings;
	const field = fieldFor(question, tui, theme);
	let deafUntil = performance.now() + DEAF_MS;
	let drawn: DrawnQuestion | undefined;
	let first = 0;
	let chosen: number | undefined;
	let wasEndShown = false;

	const scroll = (pages: number) => {
		first = Math.max(0, (drawn?.first ?? 0) + pages * Math.max(1, (drawn?.room ?? 1) - 1));
	};
	const move = (by: 1 | -1) => {
		if (question.kind !== "select") first = Math.max(0, (drawn?.first ?? 0) + by);
		else chosen = nextChoice(chosen, by, question.options.length);
	};
	const accept = () => {
		const reply = question.kind === "select" ? question.options[chosen ?? -1] : field?.getValue();
		if (wasEndShown && reply !== undefined && reply !== "") done(reply);
	};
	const keys: readonly (readonly [readonly KeyId[], () => void])[] = [
		[["escape"], () => done(question.kind === "confirm" ? false : null)],
		[["pageDown"], () => scroll(1)],
		[["pageUp"], () => scroll(-1)],
		...(question.kind === "confirm"
			? ([
					[["n"], () => done(false)],
					[["y"], () => void (wasEndShown && done(true))],
				] as const)
			: ([[["enter"], accept]] as const)),
		...(field
			? []
			: ([
					[["up"], () => move(-1)],
					[["down"], () => move(1)],
					[["end"], () => scroll(ALL_PAGES)],
					[["home"], () => scroll(-ALL_PAGES)],
				] as const)),
	];
	const handle = (data: string) => {
		const known = keys.find(([names]) => names.some((name) => matchesKey(data, name)));
		if (known) known[1]();
		else field?.handleInput(data);
	};
	return {
		render(width) {
			const picture = { label: run.label, question, others: others(), chosen, first, width };
			const rows = field?.render(Math.max(10, width - 4)) ?? [];
			drawn = questionRows({ ...picture, field: rows, height: Math.max(6, rowsOfScreen() - 4) }, theme);
			wasEndShown ||= drawn.isEndShown;
			return drawn.rows;
		},
		handleInput(data) {
			if (performance.now() < deafUntil) deafUntil = performance.now() + DEAF_MS;
			else handle(data);
			tui.requestRender();
		},
		invalidate() {},
	};
}

const ALL_PAGES = 1_000_000;

/** Nothing is chosen before the person has moved. */
function nextChoice(chosen: number | undefined, by: 1 | -1, count: number): number {
	if (chosen === undefined) return by === 1 ? 0 : count - 1;
	return Math.max(0, Math.min(count - 1, chosen + by));
}

interface Field {
	render(width: number): string[];
	handleInput(data: string): void;
	getValue(): string;
}

/** What the person writes an answer in, where it is one to write. */
function fieldFor(question: Question, tui: Surroundings["tui"], theme: Theme): Field | undefined {
	if (question.kind === "input") {
		const placeholder = sanitizeLine(question.placeholder);
		const input = new Input({ placeholder, placeholderStyle: (text) => theme.fg("dim", text) });
		input.focused = true;
		return input;
	}
	if (question.kind !== "editor") return undefined;
	const paint = (text: string) => theme.fg("border", text);
	const plain = (text: string) => text;
	const editor = new Editor(tui as TUI, {
		borderColor: paint,
		selectList: { selectedPrefix: plain, selectedText: plain, description: plain, scrollInfo: plain, noMatch: plain },
	});
	editor.disableSubmit = true;
	editor.focused = true;
	editor.setText(sanitize(question.prefill));
	return {
		render: (width) => editor.render(width),
		handleInput: (data) => editor.handleInput(data),
		getValue: () => editor.getExpandedText(),
	};
}
