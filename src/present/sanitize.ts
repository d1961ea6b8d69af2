import { stripVTControlCharacters } from "node:util";

/** C0 but tab and LF, DEL, C1, and the characters that reorder text. */
const CONTROLS = /[^\P{Cc}\t\n]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** DCS, SOS, OSC, PM and APC strings with their payload; one that is never closed takes the rest of the text with it. */
const ESC = String.fromCharCode(0x1b);
const CONTROL_STRINGS = new RegExp(
	`(?:${ESC}[PX\\]^_]|[\\u0090\\u0098\\u009d-\\u009f])[\\s\\S]*?(?:\\u0007|${ESC}\\\\|\\u009c|$)`,
	"g",
);

/** Only what can be printed, whatever a child, a file or an error says. LF and tab stay. */
export function sanitize(text: string): string {
	return stripVTControlCharacters(text.replace(CONTROL_STRINGS, "")).replace(CONTROLS, "").toWellFormed();
}

/** The same on one line. */
export const sanitizeLine = (text: string): string => sanitize(text).replace(/\s+/g, " ").trim();
