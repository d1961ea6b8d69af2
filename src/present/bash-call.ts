import { columnsOf, fitLine } from "./fit.ts";
import { isSameDirectory, type Place, shortenPathsIn } from "./paths.ts";
import { sanitize, sanitizeLine } from "./sanitize.ts";
import { toolLine, type WindowLine } from "./window-line.ts";

const HEAD = "bash → ";
const CONTINUED = "  │ ";
const MAX_ROWS = 4;
/** `cd` to a directory as the first of several commands. */
const LEADING_CD = /^\s*cd\s+(?:"([^"\n]+)"|'([^'\n]+)'|([^\s;&|]+))\s*(?:&&|;|\n)\s*/;

/** The first line of a command; a long chain of them goes on below, a row for as many as fit. */
export function chainRows(command: string, place: Place & { readonly width: number }): WindowLine[] {
	const text = firstLine(withoutCd(sanitize(command), place));
	const line = shortenPathsIn(text, place);
	if (columnsOf(HEAD + line) <= place.width || !line.includes(" && ")) {
		return [toolLine([fitLine(HEAD + line, place.width)])];
	}
	const rows: string[] = [];
	let row = HEAD;
	let isFirst = true;
	for (const step of line.split(" && ")) {
		const longer = isFirst ? row + step : `${row} && ${step}`;
		if (isFirst || columnsOf(longer) + 3 <= place.width || rows.length === MAX_ROWS - 1) row = longer;
		else {
			rows.push(`${row} &&`);
			row = CONTINUED + step;
		}
		isFirst = false;
	}
	return [...rows, row].map((each) => toolLine([fitLine(each, place.width)]));
}

function withoutCd(command: string, place: Place): string {
	const found = LEADING_CD.exec(command);
	const directory = found?.[1] ?? found?.[2] ?? found?.[3];
	if (!found || directory === undefined || !isSameDirectory(directory, place)) return command;
	const rest = command.slice(found[0].length);
	return rest.trim() === "" ? command : withoutCd(rest, place);
}

const firstLine = (text: string): string => sanitizeLine(text.split("\n").find((line) => line.trim() !== "") ?? "");
