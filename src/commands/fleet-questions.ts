import type { Theme } from "@earendil-works/pi-coding-agent";
import type { OpenQuestion, Questions } from "../session/questions.ts";
import { createQuestionPanel, type QuestionPanel } from "./question-overlay.ts";

/** The list or the transcript, as far as questions are concerned. */
interface View {
	/** Letters belong to a message that is being written. */
	readonly isWriting: boolean;
	readonly selectedRun: string | undefined;
	/** Said before the other keys. */
	hint: string;
	render(width: number): string[];
	handleInput(data: string): void;
}

interface Screen {
	readonly theme: Theme;
	redraw(): void;
	rowsOfScreen(): number;
}

/** While the fleet view is open questions wait in it: `a` opens that of the selected run, else the oldest. */
export function withQuestions(view: View, questions: Questions, { theme, redraw, rowsOfScreen }: Screen) {
	let shown: { readonly open: OpenQuestion; readonly panel: QuestionPanel } | undefined;
	const look = () => {
		if (shown && !questions.open.includes(shown.open)) shown = undefined;
		view.hint = questions.open.length > 0 ? "a answer · " : "";
		redraw();
	};
	const open = () => {
		const wanted = questions.open.find(({ run }) => run.runId === view.selectedRun) ?? questions.open[0];
		if (!wanted) return;
		const panel = createQuestionPanel(wanted, {
			...{ theme, rowsOfScreen, tui: { requestRender: redraw }, others: () => questions.open.length - 1 },
			done: (reply) => questions.answer(wanted, reply),
		});
		shown = { open: wanted, panel };
	};
	const giveBack = questions.takeOver();
	const leave = questions.subscribe(look);
	view.hint = questions.open.length > 0 ? "a answer · " : "";
	return {
		render(width: number): string[] {
			const rows = view.render(width);
			const above = shown?.panel.render(width) ?? [];
			return [...above, ...rows.slice(above.length)];
		},
		handleInput(data: string): void {
			if (shown) shown.panel.handleInput(data);
			else if (data === "a" && !view.isWriting && questions.open.length > 0) open();
			else view.handleInput(data);
		},
		dispose(): void {
			leave();
			giveBack();
		},
	};
}
