/** What windows are shown on. */
export interface Display {
	/** Columns that a tool call may take. */
	readonly previewWidth: number;
	/** `maxLinesPerWindow` */
	readonly maxLines: number;
	/** Lines of a window while it runs: a screen that is expanded may show more than `maxLinesPerWindow`. */
	readonly runningLines: number;
	readonly home: string;
}

const MIN_PREVIEW_WIDTH = 20;
/** pi's frame, and the indentation of a window's lines. */
const MARGIN = 4;

/** A terminal decides by its size; the settings speak where there is none. Asked again for every update: sizes change. */
export function displayOf(
	settings: { readonly maxLinesPerWindow: number; readonly commandPreviewWidth: number },
	output: { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number },
	home: string,
): Display {
	const { maxLinesPerWindow, commandPreviewWidth } = settings;
	if (!output.isTTY || output.columns === undefined) {
		const previewWidth = Math.max(MIN_PREVIEW_WIDTH, commandPreviewWidth);
		return { previewWidth, maxLines: maxLinesPerWindow, runningLines: maxLinesPerWindow, home };
	}
	return {
		previewWidth: Math.max(MIN_PREVIEW_WIDTH, output.columns - MARGIN),
		maxLines: maxLinesPerWindow,
		runningLines: Math.max(maxLinesPerWindow, output.rows ?? 0),
		home,
	};
}
