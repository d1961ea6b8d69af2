/** `38s`, `1m12s`, `10m`, `1h05m`. */
export function durationText(ms: number): string {
	const seconds = Math.max(0, Math.floor(ms / 1_000));
	if (seconds < 60) return `${seconds}s`;
	const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
	if (minutes < 60) return rest === 0 ? `${minutes}m` : `${minutes}m${two(rest)}s`;
	const [hours, left] = [Math.floor(minutes / 60), minutes % 60];
	return left === 0 ? `${hours}h` : `${hours}h${two(left)}m`;
}

/** How long a step took: `0.0s`, `4.1s`, `14s`. */
export const stepTimeText = (ms: number): string =>
	ms < 10_000 ? `${(Math.max(0, ms) / 1_000).toFixed(1)}s` : durationText(ms);

const two = (count: number) => String(count).padStart(2, "0");

/** `950`, `4.2k`, `14k`, `1.5M`. */
export function abbreviate(count: number): string {
	if (count < 1_000) return String(count);
	const [value, unit] = count < 999_500 ? [count / 1_000, "k"] : [count / 1_000_000, "M"];
	return `${value < 9.95 ? value.toFixed(1) : Math.round(value)}${unit}`;
}

/** What there is nothing of yet. */
export const NONE = "–";

const CHARS_PER_TOKEN = 4;

/** Tokens that were counted; `~` where a message that is still being written is estimated on top. */
export function tokensText(counted: number, writtenChars: number): string {
	const written = Math.round(writtenChars / CHARS_PER_TOKEN);
	if (written > 0) return `~${abbreviate(counted + written).replace(/\.0(?=[kM])/, "")}`;
	return counted > 0 ? abbreviate(counted) : NONE;
}

/** Nothing is known to be free: tokens that cost less than a cent cost `$0.00`. */
export const costText = (cost: number, tokens: number): string =>
	cost > 0 || tokens > 0 ? `$${cost.toFixed(2)}` : NONE;
