const LF = 10;

/** A line longer than this is dropped and counted; what follows it is read as usual. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Enough to tell of what kind a line is. */
const HEAD_BYTES = 64;

export interface LineSplitter {
	write(chunk: Buffer): void;
	/** What came after the last LF, if anything. */
	end(): void;
	/** Lines that were too long to keep. */
	readonly dropped: number;
}

/**
 * Splits bytes on LF only: U+2028 is legal inside JSON strings, and decoding before splitting would cut characters at
 * chunk borders. Every byte is looked at once, however long a line is.
 */
export function createLineSplitter(
	onLine: (line: Buffer) => void,
	maxBytes = MAX_LINE_BYTES,
	/** In its place among the lines: how one that is dropped begins. */
	onDropped: (head: Buffer) => void = () => {},
): LineSplitter {
	let pieces: Buffer[] = [];
	let held = 0;
	let dropped = 0;
	let overlong = false;
	const keep = (piece: Buffer) => {
		if (overlong || piece.length === 0) return;
		if (held + piece.length > maxBytes) {
			const head = Buffer.concat([...pieces, piece].map((each) => each.subarray(0, HEAD_BYTES))).subarray(
				0,
				HEAD_BYTES,
			);
			overlong = true;
			pieces = [];
			held = 0;
			dropped++;
			onDropped(head);
			return;
		}
		pieces.push(piece);
		held += piece.length;
	};
	const flush = () => {
		const line = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, held);
		const whole = !overlong;
		pieces = [];
		held = 0;
		overlong = false;
		if (whole && line && line.length > 0) onLine(line);
	};
	return {
		write(chunk) {
			let from = 0;
			for (let to = chunk.indexOf(LF); to !== -1; to = chunk.indexOf(LF, from)) {
				keep(chunk.subarray(from, to));
				flush();
				from = to + 1;
			}
			// Copied, so that a short rest does not keep a whole read buffer alive or see it reused.
			keep(Buffer.from(chunk.subarray(from)));
		},
		end: flush,
		get dropped() {
			return dropped;
		},
	};
}
