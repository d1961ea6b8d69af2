/**
 * Frontmatter of lines such as `name: text` and nothing else, as most definitions have it: read without a YAML parser, which
 * takes half a second for a thousand files. Undefined for anything that YAML might read in another way.
 */
export function readPlainFields(yaml: string): Readonly<Record<string, string>> | undefined {
	const fields: Record<string, string> = {};
	for (const line of yaml.split("\n")) {
		if (line === "") continue;
		const match = LINE.exec(line);
		const [, key = "", written = ""] = match ?? [];
		if (match === null || Object.hasOwn(fields, key) || key in Object.prototype || NO_TEXT.test(key)) return undefined;
		const value = plainValue(written.replace(/ +$/, ""));
		if (value === undefined) return undefined;
		fields[key] = value;
	}
	return fields;
}

const LINE = /^([A-Za-z][\w-]*): ([^\t\n\r]+)$/;
/** Other characters at its start, a colon before a space, a space before a `#`: all of these mean something to YAML. */
const PLAIN = /^[A-Za-z](?:(?! #|:(?: |$))[^\p{C}\p{Zl}\p{Zp}\u00a0\ufeff])*$/u;
const QUOTED = /^"((?:(?!["\\])[^\p{C}\p{Zl}\p{Zp}\ufeff])*)"$/u;
/** Words that are no texts. */
const NO_TEXT = /^(?:true|false|null)$/i;

function plainValue(text: string): string | undefined {
	if (PLAIN.test(text)) return NO_TEXT.test(text) ? undefined : text;
	return QUOTED.exec(text)?.[1];
}
