import { homedir } from "node:os";
import { displayOf } from "../present/display.ts";
import { nestedStatus } from "../present/nested-status.ts";
import type { Call } from "./call.ts";
import type { Row } from "./row.ts";
import { isNested } from "./structured.ts";

interface Footer {
	show(): void;
	clear(): void;
}

/** What stands in pi's footer while a call of a script runs. A call of the model has a block of its own instead. */
export function createNestedFooter(rows: readonly Row[], { id, context, parent }: Call): Footer {
	if (!isNested(id)) return { show() {}, clear() {} };
	const { previewWidth, home } = displayOf(parent.settings, process.stdout, homedir());
	const place = { width: previewWidth, home, cwd: parent.cwd };
	const set = (text: string | undefined) => context.ui.setStatus(`pi-subagents ${id}`, text);
	return {
		show: () =>
			set(
				nestedStatus(
					rows.map(({ request, state }) => ({ name: request.label, state })),
					place,
				),
			),
		clear: () => set(undefined),
	};
}
