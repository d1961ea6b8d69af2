import type { Theme } from "@earendil-works/pi-coding-agent";
import type { Component } from "@earendil-works/pi-tui";
import { fitLine } from "./fit.ts";
import { frameTop } from "./frame-view.ts";
import { sanitizeLine } from "./sanitize.ts";
import type { WindowsState } from "./windows-view.ts";

interface CallContext {
	readonly state: WindowsState;
}

/** `delegate_to_subagents  16 tasks, 4 at a time · scout, reviewer`, also while the arguments are still coming. */
export function renderDelegateCall(args: unknown, theme: Theme, { state }: CallContext): Component {
	const { tasks, profile } = fieldsOf(args);
	const items = Array.isArray(tasks) ? tasks : [];
	const profiles = [profile, ...items.map((task) => fieldsOf(task).profile)].flatMap(nameIn);
	return frameTop(
		titleLine("delegate_to_subagents", () => tasksText(items.length, profiles, state), theme),
		state,
		theme,
	);
}

/** `subagent  scout`, or with tasks `subagent  3 tasks · scout, reviewer`. */
export function renderSubagentCall(args: unknown, theme: Theme, { state }: CallContext): Component {
	const { tasks } = fieldsOf(args);
	const items = Array.isArray(tasks) ? tasks : [];
	const calledIn = (task: unknown) => [...nameIn(fieldsOf(task).preset), ...nameIn(fieldsOf(task).agent)];
	const names = (items.length > 0 ? items : [args]).flatMap(calledIn);
	const subject = () => (items.length > 0 ? tasksText(items.length, names, state) : names.join(""));
	return frameTop(titleLine("subagent", subject, theme), state, theme);
}

function tasksText(count: number, names: readonly string[], { atATime = 0 }: WindowsState): string {
	const turns = atATime > 0 && count > atATime ? `, ${atATime} at a time` : "";
	const called = names.length > 0 ? ` · ${[...new Set(names)].join(", ")}` : "";
	return `${count} task${count === 1 ? "" : "s"}${turns}${called}`;
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
	typeof value === "object" && value !== null ? { ...value } : {};
const nameIn = (value: unknown): string[] => (typeof value === "string" && value !== "" ? [sanitizeLine(value)] : []);

/** A tool's name and what its call is about, on one line. */
export const renderTitle = (tool: string, subject: string, theme: Theme): Component =>
	titleLine(tool, () => subject, theme);

function titleLine(tool: string, subject: () => string, theme: Theme): Component {
	return {
		render(width) {
			const line = fitLine(`${tool}  ${sanitizeLine(subject())}`.trimEnd(), width);
			return [
				theme.fg("toolTitle", theme.bold(line.slice(0, tool.length))) + theme.fg("muted", line.slice(tool.length)),
			];
		},
		invalidate() {},
	};
}
