import { NODE_FLAGS, scriptPath } from "../child/scripts.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { Launcher } from "./launch-process.ts";
import { openPane, tmuxMissing } from "./tmux-pane.ts";

export interface PaneOptions {
	/** What a pane is called. */
	titleOf(label: string): string;
	readonly atEnd: "close" | "keep";
	/** Says where tmux is: PATH, TMUX, TMUX_PANE, TMUX_TMPDIR. */
	readonly environment: NodeJS.ProcessEnv;
	/** A run that has no pane runs all the same. */
	warn(message: string): void;
}

/**
 * Gives supervisors, however they are launched, a pane of tmux each that shows their run. The pane is a window onto the run
 * and no more: whoever closes it, or tmux, or detaches, changes nothing.
 */
export async function createPanes(options: PaneOptions): Promise<Result<(launch: Launcher) => Launcher>> {
	const { environment, atEnd } = options;
	const missing = await tmuxMissing(environment);
	if (missing !== undefined) return err(missing);
	return ok((launch) => async (directory, spec) => {
		const launched = await launch(directory, spec);
		if (!launched.ok) return launched;
		// Before the supervisor is given its task: the run cannot be over before its pane is ready to show that.
		const command = [process.execPath, ...NODE_FLAGS, scriptPath("pane"), directory];
		const view = { runId: spec.runId, title: options.titleOf(spec.label), command, atEnd };
		const pane = await openPane(view, environment);
		if (!pane.ok) {
			options.warn(`No tmux pane shows ${view.title}: ${pane.error}`);
			return launched;
		}
		return ok({
			...launched.value,
			async done() {
				await Promise.all([launched.value.done(), pane.value.close()]);
			},
		});
	});
}
