import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "..", "..");

/** A fenced block, and what it is: `sh`, `json`, `markdown`, `text`, or nothing for a picture. */
export interface Block {
	readonly file: string;
	readonly line: number;
	readonly language: string;
	readonly text: string;
	/** The nearest heading above it. */
	readonly heading: string;
}

/** All that people are given to read, by path from the root. */
export const DOCUMENTS: readonly string[] = [
	...["README.md", "CONTRIBUTING.md", "AGENTS.md", "CHANGELOG.md"],
	...readdirSync(join(ROOT, "docs"))
		.filter((file) => file.endsWith(".md"))
		.map((file) => `docs/${file}`),
];

export const readDocument = (file: string): string => readFileSync(join(ROOT, file), "utf8");

export function blocksOf(file: string): Block[] {
	const blocks: Block[] = [];
	let open: { readonly language: string; readonly line: number; readonly lines: string[] } | undefined;
	let heading = "";
	for (const [index, line] of readDocument(file).split("\n").entries()) {
		const fence = /^```(\w*)$/.exec(line);
		if (open && fence) {
			blocks.push({ file, line: open.line, language: open.language, text: open.lines.join("\n"), heading });
			open = undefined;
		} else if (fence) open = { language: fence[1] ?? "", line: index + 1, lines: [] };
		else if (open) open.lines.push(line);
		else heading = /^#+ (.*)$/.exec(line)?.[1] ?? heading;
	}
	if (open) throw new Error(`${file}:${open.line}: a block that is never closed`);
	return blocks;
}

export const allBlocks = (language: string): Block[] =>
	DOCUMENTS.flatMap(blocksOf).filter((block) => block.language === language);

export const describeBlock = ({ file, line }: Block): string => `${file}:${line}`;

/** The text without its fenced blocks: what may hold links. */
export const proseOf = (file: string): string => readDocument(file).replace(/^```[\s\S]*?^```$/gm, "");

/** The anchors that a reader's browser makes of the headings. */
export const anchorsOf = (file: string): string[] =>
	[...proseOf(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
		heading
			.toLowerCase()
			.replace(/[^\p{L}\p{N}\s_-]/gu, "")
			.trim()
			.replaceAll(" ", "-"),
	);
