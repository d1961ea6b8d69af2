import type { Theme } from "@earendil-works/pi-coding-agent";
import type { Component } from "@earendil-works/pi-tui";
import { fitLine } from "./fit.ts";
import { sanitizeLine } from "./sanitize.ts";
import { wrapPlain } from "./window-rows.ts";

const TITLE = "delegate_to_subagents";

/** `delegate_to_subagents 3 sub-agents (default profile: a) profiles: [b, c]`, also while the arguments are still coming. */
export function renderDelegateCall(args: unknown, theme: Theme, context: { readonly isPartial: boolean }): Component {
	const rest = describeCall(args);
	return {
		render(width) {
			const whole = `${TITLE} ${rest}`;
			// While it runs the block must not grow: see windows-view.ts.
			const rows = context.isPartial ? [fitLine(whole, width)] : wrapPlain(whole, width);
			return rows.map((row, index) => {
				const title = index === 0 && row.startsWith(TITLE) ? TITLE : "";
				return theme.fg("toolTitle", theme.bold(title)) + theme.fg("muted", row.slice(title.length));
			});
		},
		invalidate() {},
	};
}

function describeCall(args: unknown): string {
	const { tasks, profile } = fieldsOf(args);
	const items = Array.isArray(tasks) ? tasks : [];
	const own = [...new Set(items.flatMap((task) => nameIn(fieldsOf(task).profile)))];
	return [
		`${items.length} sub-agent${items.length === 1 ? "" : "s"}`,
		...nameIn(profile).map((name) => `(default profile: ${name})`),
		...(own.length > 0 ? [`profiles: [${own.join(", ")}]`] : []),
	].join(" ");
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
	typeof value === "object" && value !== null ? { ...value } : {};
const nameIn = (value: unknown): string[] => (typeof value === "string" && value !== "" ? [sanitizeLine(value)] : []);

/** `subagent scout`, or with tasks `subagent 3 tasks [scout, reviewer]`. */
export function renderSubagentCall(args: unknown, theme: Theme): Component {
	const { tasks } = fieldsOf(args);
	const items = Array.isArray(tasks) ? tasks : [];
	const calledIn = (task: unknown) => [...nameIn(fieldsOf(task).preset), ...nameIn(fieldsOf(task).agent)];
	const names = [...new Set(items.flatMap(calledIn))];
	const rest = items.length > 0 ? `${items.length} tasks [${names.join(", ")}]` : calledIn(args).join("");
	return renderTitle("subagent", rest, theme);
}

/** A tool's name and what its call is about, on one line. */
export function renderTitle(tool: string, subject: string, theme: Theme): Component {
	return {
		render(width) {
			const line = fitLine(`${tool} ${sanitizeLine(subject)}`.trimEnd(), width);
			return [
				theme.fg("toolTitle", theme.bold(line.slice(0, tool.length))) + theme.fg("muted", line.slice(tool.length)),
			];
		},
		invalidate() {},
	};
}
