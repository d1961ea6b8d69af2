import type { Theme } from "@earendil-works/pi-coding-agent";
import type { Component } from "@earendil-works/pi-tui";
import { type CompletionDetails, STATUS_SIGNS, STATUS_WORDS } from "./background-text.ts";
import { fitLine } from "./fit.ts";
import { markdownRows } from "./markdown-view.ts";
import { receiptRows } from "./receipt-view.ts";
import { sanitizeLine } from "./sanitize.ts";
import { renderTruncatedText } from "./text-view.ts";
import { costText, durationText, tokensText } from "./units.ts";

const SHOWN_LINES = 3;

/** The message that tells of a background run's end: a line about it, and the first lines of what it said. */
export function renderCompletion(
	message: { readonly details?: unknown },
	{ expanded, outputPad }: { readonly expanded: boolean; readonly outputPad: number },
	theme: Theme,
): Component | undefined {
	const details = message.details as CompletionDetails | undefined;
	if (typeof details?.text !== "string" || typeof details.cost !== "number") return undefined;
	const pad = " ".repeat(outputPad);
	let drawn: { width: number; rows: string[] } | undefined;
	return {
		render(width) {
			if (drawn?.width === width) return drawn.rows;
			const inner = Math.max(1, width - 2 * outputPad);
			const receipt = receiptRows(details.receipt ?? [], inner, theme);
			const rows = [headline(details, inner, theme), ...receipt, ...answerRows(details.text, inner, expanded, theme)];
			drawn = { width, rows: rows.map((row) => pad + row) };
			return drawn.rows;
		},
		invalidate() {
			drawn = undefined;
		},
	};
}

function answerRows(text: string, width: number, expanded: boolean, theme: Theme): string[] {
	const rows = markdownRows(text, width, theme);
	const left = rows.length - SHOWN_LINES;
	if (expanded || left <= 0) return rows;
	return [...rows.slice(0, SHOWN_LINES), theme.fg("muted", fitLine(`... (${left} more lines)`, width))];
}

/** The message that tells of runs that broke off: its words, and not the name that it has among ours. */
export function renderNotice(
	message: { readonly content: unknown },
	{ outputPad }: { readonly outputPad: number },
	theme: Theme,
): Component | undefined {
	if (typeof message.content !== "string") return undefined;
	const text = renderTruncatedText(message.content, SHOWN_LINES, true, theme);
	const pad = " ".repeat(outputPad);
	return {
		render: (width) => text.render(Math.max(1, width - 2 * outputPad)).map((row) => pad + row),
		invalidate: () => text.invalidate(),
	};
}

function headline(
	{ status, preset, runId, seconds, tokens, cost }: CompletionDetails,
	width: number,
	theme: Theme,
): string {
	const figures = [durationText(seconds * 1_000), tokensText(tokens, 0), costText(cost, tokens), runId].join(" · ");
	const line = `${STATUS_SIGNS[status]} ${sanitizeLine(preset)} ${STATUS_WORDS[status]} in the background · ${figures}`;
	return theme.fg(status === "completed" ? "success" : "error", fitLine(line, width));
}
