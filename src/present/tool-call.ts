import { cut } from "../domain/messages.ts";
import { sanitizeLine } from "./sanitize.ts";

const MAX_PREVIEW_CHARS = 160;

/** A tool call on one line. */
export function toolCallLine(name: string, args: unknown): string {
	const json = JSON.stringify(args) ?? "";
	return cut(sanitizeLine(json === "{}" ? name : `${name} ${json}`), MAX_PREVIEW_CHARS);
}
