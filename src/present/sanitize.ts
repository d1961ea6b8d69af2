import { stripVTControlCharacters } from "node:util";

const ESC = String.fromCharCode(0x1b);
/** DCS, SOS, OSC, PM and APC with their payload. One that is never closed ends with its line, so that it hides no more. */
const CONTROL_STRINGS = new RegExp(
	`(?:${ESC}[PX\\]^_]|[\\u0090\\u0098\\u009d-\\u009f])[^\\n\\u0007\\u0018\\u001a\\u001b\\u009c]*(?:\\u0007|${ESC}\\\\|\\u009c)?`,
	"g",
);
const LINE_ENDS = /\r\n?|[\u0085\u2028\u2029]/g;
/** C0 but tab and LF, DEL and C1. */
const CONTROLS = /[^\P{Cc}\t\n]/gu;
/**
 * What has no picture of its own: the characters that reorder text, hide it, or that terminals disagree about in width.
 * Joiners and variation selectors stay: emoji and some scripts are written with them.
 */
const INVISIBLE = /[[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\u200c\u200d\ufe0e\ufe0f]]/gv;
const PLAIN = /^[\t\n\x20-\x7e]*$/;

/** Only what can be printed, whatever a child, a file or an error says. LF and tab stay; other line ends become LF. */
export function sanitize(text: string): string {
	if (PLAIN.test(text)) return text;
	const lines = text.replace(LINE_ENDS, "\n").replace(CONTROL_STRINGS, "");
	return stripVTControlCharacters(lines).replace(CONTROLS, "").replace(INVISIBLE, "").toWellFormed();
}

/** Without what has no picture: for a row that is painted already, of text without control characters. */
export const withoutInvisible = (row: string): string => row.replace(INVISIBLE, "");

/** The same on one line. */
export const sanitizeLine = (text: string): string => sanitize(text).replace(/\s+/g, " ").trim();
