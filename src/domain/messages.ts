import type { AssistantMessage } from "@earendil-works/pi-ai";
import type { ChatMessage } from "./event.ts";

const MAX_ARGUMENT_CHARS = 120;
const MAX_RESULT_CHARS = 500;

/** All text of a message; thinking and images are left out. */
export function textOf(message: ChatMessage): string {
	if (typeof message.content === "string") return message.content;
	return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

export function lastAssistant(messages: readonly ChatMessage[]): AssistantMessage | undefined {
	return messages.findLast((message) => message.role === "assistant");
}

/** The text of the last assistant message that has any. */
export function lastTextIn(messages: readonly ChatMessage[]): string {
	const last = messages.findLast((message) => message.role === "assistant" && textOf(message) !== "");
	return last ? textOf(last) : "";
}

/** The first `max` UTF-16 units, never half of a surrogate pair. */
export function cut(text: string, max: number): string {
	if (text.length <= max) return text;
	const last = text.charCodeAt(max - 1);
	return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}

/** As much of a text as takes no more than so many bytes in JSON; where something is missing, it ends in "…". */
export function cutBytes(text: string, maxBytes: number): string {
	const bytesOf = (part: string) => Buffer.byteLength(JSON.stringify(part));
	if (text.length <= maxBytes && bytesOf(text) <= maxBytes) return text;
	let kept = cut(text, maxBytes);
	while (kept !== "" && bytesOf(kept) + 3 > maxBytes) kept = cut(kept, Math.floor(kept.length * 0.9));
	return `${kept}…`;
}

/** The last `max` UTF-16 units, never half of a surrogate pair. */
export function cutFront(text: string, max: number): string {
	if (text.length <= max) return text;
	const first = text.charCodeAt(text.length - max);
	return text.slice(text.length - (first >= 0xdc00 && first <= 0xdfff ? max - 1 : max));
}

/** A message as a person reads it in a transcript, one string per part. */
export function describeMessage(message: ChatMessage): string[] {
	switch (message.role) {
		case "user":
			return [textOf(message)];
		case "toolResult": {
			const text = textOf(message);
			const shown = cut(text, MAX_RESULT_CHARS);
			return [`[tool result]: ${shown}${shown.length < text.length ? "..." : ""}`];
		}
		case "assistant": {
			const parts = message.content.flatMap((part) => {
				if (part.type === "text") return part.text === "" ? [] : [part.text];
				if (part.type !== "toolCall") return [];
				return [`→ ${part.name}: ${cut(JSON.stringify(part.arguments) ?? "", MAX_ARGUMENT_CHARS)}`];
			});
			return message.errorMessage ? [...parts, `[Error: ${message.errorMessage}]`] : parts;
		}
	}
}

/** The newest values whose JSON fits into so many bytes, in order. */
export function newestWithin<T>(values: readonly T[], maxBytes: number): readonly T[] {
	let bytes = 0;
	const first = values.findLastIndex((value) => {
		bytes += Buffer.byteLength(JSON.stringify(value)) + 1;
		return bytes > maxBytes;
	});
	return first === -1 ? values : values.slice(first + 1);
}
