import { Input } from "@earendil-works/pi-tui";
import { withoutInvisible } from "../present/sanitize.ts";

/** A line to type a message into. What is pasted arrives as it is, and nothing in it reaches the terminal as a command. */
export interface MessageInput {
	/** Exactly what was typed and pasted. */
	text(): string;
	handleInput(data: string): void;
	/** One row. */
	render(width: number): string[];
}

const [PASTE, END_OF_PASTE] = ["\u001b[200~", "\u001b[201~"];

/**
 * pi's own input drops line ends, changes tabs and draws the rest as it is. So it never gets to see a control character: there are
 * 65 of them and 66 code points that no text may use, and while the text is in the input these stand for those.
 */
const STAND_INS = [
	...Array.from({ length: 32 }, (_, index) => String.fromCodePoint(0xfdd0 + index)),
	...Array.from({ length: 34 }, (_, index) => String.fromCodePoint((index >> 1) * 0x10000 + 0xfffe + (index & 1))),
];
const CONTROLS = Array.from({ length: 65 }, (_, index) => String.fromCharCode(index < 32 ? index : index + 0x5f));
const standIns = new Map(CONTROLS.map((control, index) => [control, STAND_INS[index] ?? ""]));
const controls = new Map(CONTROLS.map((control, index) => [STAND_INS[index] ?? "", control]));
const ANY_CONTROL = /\p{Cc}/gu;
const ANY_STAND_IN = new RegExp(`[${STAND_INS.join("")}]`, "gu");

export function createMessageInput(): MessageInput {
	const input = new Input();
	input.focused = true;
	let pasted: string | undefined;
	const handleInput = (data: string): void => {
		if (pasted === undefined && !data.includes(PASTE)) return void input.handleInput(data);
		const [before = "", ...inside] = pasted === undefined ? data.split(PASTE) : ["", data];
		if (before !== "") input.handleInput(before);
		pasted = (pasted ?? "") + inside.join(PASTE);
		const end = pasted.indexOf(END_OF_PASTE);
		if (end === -1) return;
		const [whole, after] = [pasted.slice(0, end), pasted.slice(end + END_OF_PASTE.length)];
		pasted = undefined;
		input.handleInput(PASTE + whole.replace(ANY_CONTROL, (control) => standIns.get(control) ?? "") + END_OF_PASTE);
		if (after !== "") handleInput(after);
	};
	return {
		text: () => input.getValue().replace(ANY_STAND_IN, (standIn) => controls.get(standIn) ?? standIn),
		handleInput,
		render: (width) => input.render(width).map((row) => withoutInvisible(row.replace(ANY_STAND_IN, pictureOf))),
	};
}

/** `↵` for a line end, `␛` for an escape: what Unicode has for them, of one cell. */
function pictureOf(standIn: string): string {
	const code = controls.get(standIn)?.charCodeAt(0) ?? 0;
	if (code === 0x0a || code === 0x0d) return "↵";
	if (code < 0x20) return String.fromCharCode(0x2400 + code);
	return code === 0x7f ? "\u2421" : "\ufffd";
}
