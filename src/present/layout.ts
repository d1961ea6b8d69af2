/** What a window would like to show below its header. */
export interface Wish {
	readonly phase: "waiting" | "running" | "completed" | "error";
	readonly rows: number;
}

/** What a block looked like the last time: its windows do not shrink while they run. */
export interface Layout {
	/** The most windows that ran at the same time: among so many the room is divided. */
	readonly slots: number;
	/** Rows below each header. */
	readonly granted: readonly number[];
	/** The windows that are shown, in order. */
	readonly shown: readonly number[];
	readonly hidden: number;
}

export const noLayout: Layout = { slots: 1, granted: [], shown: [], hidden: 0 };

/**
 * Divides `room` rows among windows. Every window has a header before any has more. Running windows grow to their share;
 * a window that is done keeps its rows until a running one needs them, so the block neither shrinks nor jumps.
 */
export function shareRows(wishes: readonly Wish[], room: number, before: Layout): Layout {
	const running = wishes.filter(({ phase }) => phase === "running").length;
	const slots = Math.max(before.slots, running);
	if (wishes.length > room) return headersOnly(wishes, room, slots);
	const body = room - wishes.length;
	const share = Math.max(1, Math.floor(body / slots));
	const granted = wishes.map((wish, index) => wantedRows(wish, Math.min(before.granted[index] ?? 0, share), share));
	for (let excess = sum(granted) - body; excess > 0; excess--) {
		const donor = donorOf(wishes, granted);
		granted[donor] = (granted[donor] ?? 0) - 1;
	}
	return { slots, granted, shown: wishes.map((_wish, index) => index), hidden: 0 };
}

function wantedRows({ phase, rows }: Wish, held: number, share: number): number {
	if (phase === "waiting") return 0;
	return Math.max(held, Math.min(rows, share));
}

/** Who gives a row first: what is done and needs it least, and the tallest of those. */
function donorOf(wishes: readonly Wish[], granted: readonly number[]): number {
	const weight = (index: number) => {
		const rows = granted[index] ?? 0;
		if (rows === 0) return -1;
		const phase = wishes[index]?.phase;
		if (phase === "running") return rows;
		// The last row of a failed window says why.
		return phase === "error" && rows === 1 ? 1_000 + rows : 1_000_000 + rows;
	};
	return wishes.reduce((best, _wish, index) => (weight(index) > weight(best) ? index : best), 0);
}

const RANKS = { running: 0, error: 1, completed: 2, waiting: 3 } as const;

/** Not even the headers fit: the ones that matter most, and a line that counts the others. */
function headersOnly(wishes: readonly Wish[], room: number, slots: number): Layout {
	const shown = wishes
		.map(({ phase }, index) => ({ rank: RANKS[phase], index }))
		.sort((a, b) => a.rank - b.rank || a.index - b.index)
		.slice(0, Math.max(0, room - 1))
		.map(({ index }) => index)
		.sort((a, b) => a - b);
	return { slots, granted: wishes.map(() => 0), shown, hidden: wishes.length - shown.length };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
