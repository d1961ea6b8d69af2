import { columnsOf, fitLine } from "./fit.ts";
import { sanitizeLine } from "./sanitize.ts";
import type { TaskWindow } from "./window.ts";

export interface Segment {
	readonly text: string;
	readonly style: TaskWindow["status"] | "name" | "muted";
}

const ICONS = { running: "⏳", completed: "✓", error: "✗" } as const;
const SEPARATOR = " • ";
/** What is left out first where a header must stay on one row. */
const DISPENSABLE = ["usage", "model", "profile", "tools", "todos", "time"] as const;
type Part = (typeof DISPENSABLE)[number];
const MIN_NOTE_COLUMNS = 12;

/** `⏳ name • profile (provider/model thinking) • 3 tools • [1/4] • 12s/600s • 4.2k tokens $0.0210` */
export function headerOf(window: TaskWindow, now: number, columns = Number.POSITIVE_INFINITY): Segment[] {
	const parts = partsOf(window, now);
	const name = sanitizeLine(window.name);
	const icon = ICONS[window.status];
	const left = leaveOut(DISPENSABLE, (gone) => columnsOf(`${icon} ${name}${restOf(parts, gone)}`) <= columns);
	const rest = restOf(parts, left);
	const room = columns - columnsOf(`${icon} ${rest}`);
	return [
		{ text: icon, style: window.status },
		{ text: ` ${Number.isFinite(room) ? fitLine(name, room) : name}`, style: "name" },
		{ text: rest, style: "muted" },
	];
}

/** A window that has no other row: what it does, or why it failed, stands behind its header, if there is room. */
export function onlyRowOf(window: TaskWindow, now: number, columns: number): Segment[] {
	const failed = window.errorMessage !== undefined;
	const note = sanitizeLine(window.errorMessage ?? window.lines.at(-1)?.text ?? "");
	const header = `${ICONS[window.status]} ${sanitizeLine(window.name)}`;
	const parts = partsOf(window, now);
	const room = (gone: ReadonlySet<Part>) => columns - columnsOf(header + restOf(parts, gone) + SEPARATOR);
	const wanted = failed ? Math.min(columns / 2, columnsOf(note)) : MIN_NOTE_COLUMNS;
	const left = leaveOut(failed ? DISPENSABLE : ["usage"], (gone) => room(gone) >= wanted);
	if (note === "" || room(left) < MIN_NOTE_COLUMNS) return headerOf(window, now, columns);
	return [
		{ text: ICONS[window.status], style: window.status },
		{ text: ` ${sanitizeLine(window.name)}`, style: "name" },
		{ text: restOf(parts, left) + SEPARATOR, style: "muted" },
		{ text: fitLine(note, room(left)), style: failed ? "error" : "muted" },
	];
}

/** As few of these parts as it takes. */
function leaveOut(parts: readonly Part[], suffices: (gone: ReadonlySet<Part>) => boolean): ReadonlySet<Part> {
	const gone = new Set<Part>();
	for (const part of parts) {
		if (suffices(gone)) break;
		gone.add(part);
	}
	return gone;
}

type Parts = Readonly<Partial<Record<Part, string>>>;

const partsOf = (window: TaskWindow, now: number): Parts => ({
	...profileParts(window),
	tools: `${window.toolCalls} tools`,
	...(window.todos && { todos: `[${window.todos.done}/${window.todos.total}]` }),
	time: describeTime(window, now),
	usage: describeUsage(window),
});

function restOf(parts: Parts, left: ReadonlySet<Part>): string {
	const shown = (part: Part) => (left.has(part) ? "" : (parts[part] ?? ""));
	const model = shown("model");
	const profile = shown("profile") && model ? `${shown("profile")} (${model})` : shown("profile") || model;
	return [profile, shown("tools"), shown("todos"), shown("time"), shown("usage")]
		.flatMap((text) => (text ? [SEPARATOR + text] : []))
		.join("");
}

/** A task that is named after its definition says that name once. */
function profileParts({ name, profileName, profileSource, model, thinking }: TaskWindow) {
	const source = profileSource === undefined || profileSource === "global" ? "" : `[${profileSource}]`;
	const profile = [...(profileName === undefined || profileName === name ? [] : [sanitizeLine(profileName)]), source];
	return {
		profile: profile.filter((part) => part !== "").join(" "),
		...(model !== undefined && { model: sanitizeLine(thinking === undefined ? model : `${model} ${thinking}`) }),
	};
}

function describeTime({ startedAt, completedAt, timeout }: TaskWindow, now: number): string {
	if (startedAt === 0) return "waiting";
	const seconds = Math.max(0, Math.floor(((completedAt ?? now) - startedAt) / 1_000));
	return timeout > 0 ? `${seconds}s/${timeout}s` : `${seconds}s`;
}

function describeUsage({ usage }: TaskWindow): string {
	const { totalTokens, cost } = usage;
	const tokens = totalTokens > 0 ? `${abbreviate(totalTokens)} tokens` : "";
	return [tokens, cost.total > 0 ? `$${cost.total.toFixed(cost.total < 1 ? 4 : 2)}` : ""].filter(Boolean).join(" ");
}

export function abbreviate(count: number): string {
	if (count < 1_000) return String(count);
	const [value, unit] = count < 999_500 ? [count / 1_000, "k"] : [count / 1_000_000, "M"];
	return `${value < 9.95 ? value.toFixed(1) : Math.round(value)}${unit}`;
}
