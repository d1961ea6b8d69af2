/** A line of a window: printable text without tabs, and what stands out in it. A part of the tool's details: plain JSON. */
export interface WindowLine {
	readonly text: string;
	readonly kind: "text" | "tool";
	/** Parts of the text, in order, by their offsets. */
	readonly marks?: readonly Mark[];
	/** A tool call that failed: the first line of its error. */
	readonly failed?: string;
}

export type Mark = readonly [from: number, to: number, role: MarkRole];
export type MarkRole = "added" | "removed";

/** A tool line is put together from pieces; the marked ones get a colour of their own. */
export type Piece = string | { readonly role: MarkRole; readonly text: string };

export const added = (text: string): Piece => ({ role: "added", text });
export const removed = (text: string): Piece => ({ role: "removed", text });
export const pieceText = (piece: Piece): string => (typeof piece === "string" ? piece : piece.text);

export function toolLine(pieces: readonly Piece[]): WindowLine {
	const marks: Mark[] = [];
	let text = "";
	for (const piece of pieces) {
		const from = text.length;
		text += pieceText(piece);
		if (typeof piece !== "string") marks.push([from, text.length, piece.role]);
	}
	return marks.length > 0 ? { text, kind: "tool", marks } : { text, kind: "tool" };
}
