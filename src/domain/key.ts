/** `$NAME`, `${NAME}`, and the two escapes `$$` and `$!`: what pi understands in models.json. */
export const KEY_REFERENCE = /\$(?:([$!])|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g;

/** Whether a value is the key itself, and not a hint where to find it. */
export function isLiteralKey(value: string): boolean {
	if (value.startsWith("!")) return false;
	return ![...value.matchAll(KEY_REFERENCE)].some(([, , braced, bare]) => braced !== undefined || bare !== undefined);
}

/** How a key is shown to a person. */
export function maskKey(value: string): string {
	if (value.startsWith("!")) return "(from a command)";
	if (/^\$(\{\w+\}|\w+)$/.test(value) && !isLiteralKey(value)) return value;
	return value.length >= 12 ? `${value.slice(0, 4)}****${value.slice(-5)}` : "****";
}
