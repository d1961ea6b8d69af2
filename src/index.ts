import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { delegateTool } from "./tools/delegate.ts";
import { type Host, piCommand } from "./tools/host.ts";

/** What pi calls when it loads the extension, in the parent only: see index.js. */
export default function register(pi: ExtensionAPI): void {
	let session = new AbortController();
	const warned = new Set<string>();
	const host: Host = {
		pi,
		command: piCommand(process.argv, process.execPath),
		failedCalls: new Set(),
		sessionSignal: () => session.signal,
		warn(message, context) {
			if (warned.has(message)) return;
			warned.add(message);
			tell(message, context);
		},
	};

	pi.on("session_start", () => {
		session = new AbortController();
	});
	pi.on("session_shutdown", () => session.abort());
	pi.on("tool_result", (event) => (host.failedCalls.delete(event.toolCallId) ? { isError: true } : undefined));
	pi.registerTool(delegateTool(host));
}

function tell(message: string, context: ExtensionContext): void {
	if (context.hasUI) context.ui.notify(message, "warning");
	else process.stderr.write(`pi-subagents: ${message}\n`);
}
