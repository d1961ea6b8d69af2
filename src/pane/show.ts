import { messageOf } from "../domain/result.ts";
import type { RunResult } from "../domain/run-result.ts";
import { createPaneText, paneEnd, paneTitle } from "../present/pane-text.ts";
import { connectControl } from "../run/control-client.ts";
import { follow, readSpec } from "../run-directory/read.ts";

/** Keys that close the view: q, Ctrl-C, Ctrl-D. They are nothing to the run. */
const LEAVE = ["q", "\u0003", "\u0004"];
const BOLD = "\u001b[1m";
const PLAIN = "\u001b[22m";

main(process.argv[2] ?? "").catch((error: unknown) => {
	process.stdout.write(`${messageOf(error)}\n`);
	process.exit(1);
});

/** What runs in a pane: shows a run from its beginning to its end and then ends, too. It can do nothing to the run. */
async function main(directory: string): Promise<void> {
	leaveOnRequest();
	const spec = await readSpec(directory);
	if (!spec) throw new Error(`There is no run in ${directory}`);
	process.stdout.write(`${BOLD}${paneTitle(spec.label)}${PLAIN} (run ${spec.runId})\n`);
	const control = await connectControl(spec.socket);
	const text = createPaneText();
	let result: RunResult | undefined;
	// A supervisor that does not answer has said all that it will ever say.
	for await (const event of follow(directory, control.ok ? control.value : { next: async () => undefined })) {
		if (event.type === "ended") result = event.result;
		else process.stdout.write(text(event));
	}
	process.stdout.write(paneEnd(result));
	process.exit(0);
}

function leaveOnRequest(): void {
	const { stdin, stdout } = process;
	const leave = () => process.exit(0);
	stdin.on("error", leave).on("data", (keys) => {
		if (LEAVE.some((key) => keys.includes(key))) leave();
	});
	stdout.on("error", leave);
	if (stdin.isTTY) stdin.setRawMode(true); // keys are not echoed into the text, and Ctrl-S does not hold it up
}
