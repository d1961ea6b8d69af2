import { columnsOf } from "../src/present/fit.ts";

interface Style {
	readonly foreground: string | undefined;
	readonly background: string | undefined;
	readonly bold: boolean;
	readonly dim: boolean;
	readonly italic: boolean;
	readonly inverse: boolean;
}

interface Run {
	readonly text: string;
	readonly column: number;
	readonly columns: number;
	readonly style: Style;
}

const PLAIN: Style = {
	foreground: undefined,
	background: undefined,
	bold: false,
	dim: false,
	italic: false,
	inverse: false,
};
const CELL = { width: 8.4, height: 18, baseline: 13.5 };
const MARGIN = 12;
const TEXT = "#d4d4d4";
const PAPER = "#18181e";
const BASIC = [
	...["#000000", "#cc6666", "#b5bd68", "#f0c674", "#81a2be", "#b294bb", "#8abeb7", "#c5c8c6"],
	...["#666666", "#d54e53", "#b9ca4a", "#e7c547", "#7aa6da", "#c397d8", "#70c0b1", "#eaeaea"],
];
const ESC = String.fromCharCode(0x1b);
const SGR = new RegExp(`${ESC}\\[([\\d;:]*)m`);
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** A picture of the rows that `tmux capture-pane -e` gives: a grid of characters, each where the terminal had it. */
export function terminalSvg(lines: readonly string[], columns: number): string {
	const width = Math.ceil(columns * CELL.width + 2 * MARGIN);
	const height = lines.length * CELL.height + 2 * MARGIN;
	let style = PLAIN;
	const cells = lines.flatMap((line, row) => {
		const parsed = parseLine(line, style);
		style = parsed.style;
		return parsed.runs.map((run) => drawRun(run, row));
	});
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`,
		` font-family="ui-monospace, 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">\n`,
		`<rect width="100%" height="100%" rx="8" fill="${PAPER}"/>\n`,
		`${cells.filter((cell) => cell !== "").join("\n")}\n</svg>\n`,
	].join("");
}

function parseLine(line: string, before: Style): { runs: Run[]; style: Style } {
	const runs: Run[] = [];
	let style = before;
	let column = 0;
	for (const [index, part] of line.split(SGR).entries()) {
		if (index % 2 === 1) style = applyCodes(style, part);
		else {
			for (const text of piecesOf(part)) {
				const columns = columnsOf(text);
				runs.push({ text, column, columns, style });
				column += columns;
			}
		}
	}
	return { runs, style };
}

/** Stretches of ASCII and of lines stay together; any other character gets a place of its own, since fonts disagree about its width. */
function piecesOf(text: string): string[] {
	return text
		.split(/([\x20-\x7e\u2500-\u257f]+)/)
		.flatMap((part, index) => (index % 2 === 1 ? [part] : [...graphemes.segment(part)].map(({ segment }) => segment)));
}

function drawRun({ text, column, columns, style }: Run, row: number): string {
	const [ink, paper] = style.inverse
		? [style.background ?? PAPER, style.foreground ?? TEXT]
		: [style.foreground ?? TEXT, style.background];
	const x = MARGIN + column * CELL.width;
	const y = MARGIN + row * CELL.height;
	const width = (columns * CELL.width).toFixed(1);
	const back = paper
		? `<rect x="${x.toFixed(1)}" y="${y}" width="${width}" height="${CELL.height}" fill="${paper}" shape-rendering="crispEdges"/>`
		: "";
	if (text.trim() === "") return back;
	const attributes = [
		`x="${x.toFixed(1)}" y="${y + CELL.baseline}" fill="${ink}" textLength="${width}" lengthAdjust="spacingAndGlyphs"`,
		style.bold ? 'font-weight="bold"' : "",
		style.dim ? 'opacity="0.6"' : "",
		style.italic ? 'font-style="italic"' : "",
		'xml:space="preserve"',
	];
	return `${back}<text ${attributes.filter(Boolean).join(" ")}>${escapeXml(text)}</text>`;
}

const escapeXml = (text: string) =>
	text.replace(/[<>&"]/g, (found) => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;" })[found] ?? "&quot;");

const SWITCHES: Readonly<Record<number, Partial<Style>>> = {
	0: PLAIN,
	1: { bold: true },
	2: { dim: true },
	3: { italic: true },
	7: { inverse: true },
	22: { bold: false, dim: false },
	23: { italic: false },
	27: { inverse: false },
	39: { foreground: undefined },
	49: { background: undefined },
};

function applyCodes(style: Style, parameters: string): Style {
	const codes = parameters.split(/[;:]/).map(Number);
	let next = style;
	while (codes.length > 0) {
		const code = codes.shift() ?? 0;
		if (code === 38) next = { ...next, foreground: takeColor(codes) };
		else if (code === 48) next = { ...next, background: takeColor(codes) };
		else next = { ...next, ...(SWITCHES[code] ?? basicColor(code)) };
	}
	return next;
}

function takeColor(codes: number[]): string {
	return codes.shift() === 2 ? rgb(codes.splice(0, 3)) : palette(codes.shift() ?? 0);
}

function basicColor(code: number): Partial<Style> {
	if (code >= 30 && code <= 37) return { foreground: palette(code - 30) };
	if (code >= 40 && code <= 47) return { background: palette(code - 40) };
	if (code >= 90 && code <= 97) return { foreground: palette(code - 82) };
	if (code >= 100 && code <= 107) return { background: palette(code - 92) };
	return {};
}

const rgb = (values: readonly number[]) => `#${values.map((value) => value.toString(16).padStart(2, "0")).join("")}`;

/** The 256 colours: 16 basic ones, a cube of 6×6×6, 24 greys. */
function palette(index: number): string {
	if (index < 16) return BASIC[index] ?? TEXT;
	if (index >= 232) return rgb(Array.from({ length: 3 }, () => 8 + (index - 232) * 10));
	const level = (value: number) => (value === 0 ? 0 : 55 + value * 40);
	const cube = index - 16;
	return rgb([level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)]);
}
