/** Blocks of rows one below the other. The rows of a block are made when they are asked for. */
export interface Blocks {
	readonly count: number;
	rows(block: number): readonly string[];
}

/** Where the screen begins: at a row of a block, so that what is read stays where it is while more comes; or so that it ends at the end. */
export type Position = "end" | { readonly block: number; readonly row: number };

export const BEGINNING: Position = { block: 0, row: 0 };

type Top = Exclude<Position, "end">;

/** The rows from there on, at most `room`. Only what is shown is laid out. */
export function rowsFrom(blocks: Blocks, position: Position, room: number): string[] {
	const { block, row } = topOf(blocks, position, room);
	const rows = blocks.rows(block).slice(row);
	for (let next = block + 1; next < blocks.count && rows.length < room; next++) rows.push(...blocks.rows(next));
	return rows.slice(0, room);
}

/** So many rows further down, or up. Whoever comes to the end follows it. */
export function scrolled(blocks: Blocks, position: Position, by: number, room: number): Position {
	const from = topOf(blocks, position, room);
	const to = by < 0 ? back(blocks, from, -by) : forth(blocks, from, by);
	return isBefore(to, topOf(blocks, "end", room)) ? to : "end";
}

function topOf(blocks: Blocks, position: Position, room: number): Top {
	if (position === "end") {
		const last = Math.max(0, blocks.count - 1);
		return back(blocks, { block: last, row: blocks.count > 0 ? blocks.rows(last).length : 0 }, room);
	}
	const block = Math.min(position.block, Math.max(0, blocks.count - 1));
	return { block, row: Math.min(position.row, Math.max(0, blocks.rows(block).length - 1)) };
}

function back(blocks: Blocks, { block, row }: Top, by: number): Top {
	let [at, above] = [block, row];
	let left = by;
	while (left > above && at > 0) {
		left -= above;
		at--;
		above = blocks.rows(at).length;
	}
	return { block: at, row: Math.max(0, above - left) };
}

function forth(blocks: Blocks, { block, row }: Top, by: number): Top {
	let [at, below] = [block, row + by];
	while (at < blocks.count - 1 && below >= blocks.rows(at).length) {
		below -= blocks.rows(at).length;
		at++;
	}
	return { block: at, row: below };
}

const isBefore = (a: Top, b: Top) => a.block < b.block || (a.block === b.block && a.row < b.row);
