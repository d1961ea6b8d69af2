import type { Theme } from "@earendil-works/pi-coding-agent";
import { fitLine } from "./fit.ts";
import { isWarning } from "./receipt-text.ts";
import { sanitizeLine } from "./sanitize.ts";

/** One row for each line of a receipt. */
export const receiptRows = (receipt: readonly string[], width: number, theme: Theme): string[] =>
	receipt.map((line) => theme.fg(isWarning(line) ? "warning" : "muted", fitLine(sanitizeLine(line), width)));
