import type { AgentToolResult, Theme } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";
import { sanitizeLine } from "./sanitize.ts";
import { globalStatusLine } from "./text.ts";
import type { TaskWindow } from "./window.ts";

interface CallArguments {
	readonly tasks?: readonly { readonly profile?: string }[];
	readonly profile?: string;
}

export function renderDelegateCall(args: CallArguments, theme: Theme): Text {
	const count = args.tasks?.length ?? 0;
	return new Text(
		`${theme.fg("toolTitle", theme.bold("delegate_to_subagents"))} ${count} sub-agent${count === 1 ? "" : "s"}`,
		0,
		0,
	);
}

const ICONS = { running: "⏳", completed: "✓", error: "✗" } as const;

export function renderWindows(
	result: AgentToolResult<{ windows?: readonly TaskWindow[]; maxLinesPerWindow?: number }>,
	{ expanded }: { expanded: boolean },
	theme: Theme,
): Text {
	const windows = result.details?.windows ?? [];
	if (windows.length === 0) {
		return new Text(result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n"), 0, 0);
	}
	const lines = windows.flatMap((window) => [
		`${ICONS[window.status]} ${theme.bold(sanitizeLine(window.name))} • ${window.toolCalls} tools`,
		...window.lines
			.slice(expanded ? -500 : -(result.details?.maxLinesPerWindow ?? 15))
			.map((line) => `  ${line.kind === "tool" ? theme.fg("muted", line.text) : line.text}`),
		...(window.errorMessage ? [theme.fg("error", sanitizeLine(window.errorMessage))] : []),
	]);
	return new Text([globalStatusLine(windows.map(({ status }) => status)), ...lines].join("\n"), 0, 0);
}
