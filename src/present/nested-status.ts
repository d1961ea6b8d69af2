import { cut } from "../domain/messages.ts";
import type { RunState } from "../domain/state.ts";
import { doingOf } from "./doing.ts";
import { sanitizeLine } from "./sanitize.ts";
import { countsText, taskStateOf } from "./task-state.ts";
import type { PreviewPlace } from "./tool-call.ts";

const MAX_CHARS = 160;

/**
 * The footer's line for a call that a script makes: pi draws no row for such a call. How many of its tasks run, and what the
 * running ones do.
 */
export function nestedStatus(
	tasks: readonly { readonly name: string; readonly state: RunState }[],
	place: PreviewPlace,
): string {
	const counts = countsText(tasks.map(({ state }) => taskStateOf(state)));
	const running = tasks
		.filter(({ state }) => state.phase.kind === "running")
		.map(({ name, state }) => {
			const { word, text } = doingOf(state, place);
			return sanitizeLine(`${cut(name, 20)}: ${word}${text === "" ? "" : ` ${cut(text, 40)}`}`);
		});
	return cut(["script agents:", [counts, ...running].join(" · ")].join(" "), MAX_CHARS);
}
