import type { Theme } from "@earendil-works/pi-coding-agent";
import type { Component } from "@earendil-works/pi-tui";
import { columnsOf } from "./fit.ts";

/** What colour a call's block has: pi's own frame would draw a call with failed tasks as a success. */
export type Tone = "pending" | "success" | "error";

/** Kept by pi for as long as the block exists; the call's line and its result are drawn by two components. */
export interface FrameState {
	tone?: Tone;
}

const BACKGROUNDS = { pending: "toolPendingBg", success: "toolSuccessBg", error: "toolErrorBg" } as const;

/** The call's line: the upper part of the frame, and also the lower one until there is a result. */
export function frameTop(inner: Component, state: FrameState, theme: Theme): Component {
	return framed(inner, state, theme, (rows, blank) => [blank, ...rows, ...(state.tone === undefined ? [blank] : [])]);
}

export function frameBottom(inner: Component, state: FrameState, theme: Theme, tone: Tone): Component {
	state.tone = tone;
	return framed(inner, state, theme, (rows, blank) => [...rows, blank]);
}

function framed(
	inner: Component,
	state: FrameState,
	theme: Theme,
	place: (rows: readonly string[], blank: string) => string[],
): Component {
	return {
		render(width) {
			const pad = width > 2 ? 1 : 0;
			const paint = (row: string) => {
				const filled = " ".repeat(pad) + row;
				const rest = " ".repeat(Math.max(0, width - columnsOf(filled)));
				return theme.bg(BACKGROUNDS[state.tone ?? "pending"], filled + rest);
			};
			return place(inner.render(Math.max(1, width - 2 * pad)).map(paint), paint(""));
		},
		invalidate: () => inner.invalidate(),
	};
}
