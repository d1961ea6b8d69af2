import { FINALIZE_TOOL, parseFinalized, textOfSuccess } from "../domain/finalized.ts";
import { cut } from "../domain/messages.ts";
import type { Entry, RunState } from "../domain/state.ts";
import { steerText } from "../domain/steer.ts";
import { expandTabs } from "./fit.ts";
import { sanitize } from "./sanitize.ts";
import { type PreviewPlace, toolCallLines } from "./tool-call.ts";
import { errorLine, resultLine } from "./tool-result.ts";
import type { WindowLine } from "./window-line.ts";

/** The most that is ever kept of a run's lines. */
export const MAX_LINES = 500;
/** A longer line goes on in the next one, so that the end of what is being written is always seen. */
const MAX_LINE_CHARS = 1_000;
/** Of a text that is being written, no more than this is looked at, ten times a second. */
const MAX_TAIL_CHARS = 16 * 1024;

/** The lines of one part of a message; those of a tool call take its result below them. */
interface Part {
	readonly callId: string | undefined;
	readonly lines: readonly WindowLine[];
}

interface Drawn<T> {
	readonly place: string;
	readonly value: T;
}

const drawnEntries = new WeakMap<Entry, Drawn<readonly Part[]>>();
const drawnStates = new WeakMap<RunState, Drawn<readonly WindowLine[]>>();

/** What a run has said and done, newest last, at most `max` lines. What has not changed is not made again. */
export function linesOf(state: RunState, max: number, place: PreviewPlace): readonly WindowLine[] {
	const key = `${max} ${place.width} ${place.cwd}`;
	return remember(drawnStates, state, key, () => {
		const kept = [textLines(tailOf(state.partial)).slice(-max)];
		const results = new Map<string, CallResult>();
		let count = kept[0]?.length ?? 0;
		for (let index = state.entries.length - 1; index >= 0 && count < max; index--) {
			const entry = state.entries[index];
			if (!entry) break;
			const lines = entryLines(entry, place, results);
			kept.push(lines);
			count += lines.length;
		}
		return kept.reverse().flat().slice(-max);
	});
}

/** What stands below a call, or that it failed. */
type CallResult =
	| { readonly kind: "line"; readonly line: WindowLine }
	| { readonly kind: "failed"; readonly error: string };

function entryLines(entry: Entry, place: PreviewPlace, results: Map<string, CallResult>): WindowLine[] {
	if (entry.kind === "message" && entry.message.role === "toolResult") {
		const { toolCallId, isError } = entry.message;
		const line = resultLine(entry.message);
		if (isError) results.set(toolCallId, { kind: "failed", error: errorLine(entry.message) });
		else if (line) results.set(toolCallId, { kind: "line", line });
		return [];
	}
	const parts = remember(drawnEntries, entry, `${place.width} ${place.cwd}`, () => partsOf(entry, place));
	return parts.flatMap(({ callId, lines }) => {
		const result = callId === undefined ? undefined : results.get(callId);
		if (result?.kind === "line") return [...lines, result.line];
		const [first, ...more] = lines;
		return result && first ? [{ ...first, failed: result.error }, ...more] : lines;
	});
}

function partsOf(entry: Entry, place: PreviewPlace): Part[] {
	if (entry.kind === "stray") {
		const text = entry.stream === "stdout" ? entry.text : `[${entry.stream}]: ${entry.text}`;
		return [{ callId: undefined, lines: textLines(text) }];
	}
	if (entry.kind === "steer") return [{ callId: undefined, lines: textLines(steerText(entry.steer)) }];
	if (entry.message.role !== "assistant") return [];
	return entry.message.content.flatMap((part): Part[] => {
		if (part.type === "text") return [{ callId: undefined, lines: textLines(part.text) }];
		if (part.type !== "toolCall") return [];
		const lines = part.name === FINALIZE_TOOL ? answerLines(part.arguments) : undefined;
		return [{ callId: part.id, lines: lines ?? toolCallLines(part.name, part.arguments, place) }];
	});
}

/** A call that hands over the answer is shown as that answer. */
function answerLines(args: unknown): WindowLine[] | undefined {
	const { status, result } = (args ?? {}) as { readonly status?: unknown; readonly result?: unknown };
	if (status === "SUCCESS" && typeof result === "object") return textLines(JSON.stringify(result, undefined, 2));
	const answer = parseFinalized(args);
	if (typeof answer === "string") return undefined;
	if (answer.status === "QUESTION") return textLines(`QUESTION: ${answer.question}`);
	return textLines(
		answer.status === "SUCCESS" ? textOfSuccess(answer) : `ERROR: ${answer.error}\n${answer.result ?? ""}`,
	);
}

function textLines(text: string): WindowLine[] {
	return sanitize(text)
		.split("\n")
		.map((line) => expandTabs(line).trimEnd())
		.filter((line) => line !== "")
		.slice(-MAX_LINES)
		.flatMap(pieces)
		.slice(-MAX_LINES)
		.map((line) => ({ text: line, kind: "text" as const }));
}

function pieces(line: string): string[] {
	if (line.length <= MAX_LINE_CHARS) return [line];
	const found: string[] = [];
	for (let rest = line; rest !== ""; rest = rest.slice(found.at(-1)?.length)) found.push(cut(rest, MAX_LINE_CHARS));
	return found;
}

function tailOf(text: string): string {
	if (text.length <= MAX_TAIL_CHARS) return text;
	const tail = text.slice(-MAX_TAIL_CHARS);
	return tail.slice(tail.indexOf("\n") + 1);
}

function remember<K extends object, T>(known: WeakMap<K, Drawn<T>>, key: K, place: string, make: () => T): T {
	const before = known.get(key);
	if (before?.place === place) return before.value;
	const value = make();
	known.set(key, { place, value });
	return value;
}
