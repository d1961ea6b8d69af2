const MAX_NAMES = 30;
const NEAREST = 3;
/** Names may be long; a name that does not fit is left out whole. */
const MAX_CHARS = 3_000;
const MAX_COMPARED = 200;

/**
 * Names for whoever asked for one that there is not: the three that look most like it, then the others in their own order,
 * at most thirty. No name is cut.
 */
export function nearestNames(asked: string, names: readonly string[]): string {
	const nearest = names
		.map((name) => ({ name, score: likeness(asked.slice(0, MAX_COMPARED), name) }))
		.filter(({ score }) => score > 0)
		.sort((a, b) => b.score - a.score)
		.slice(0, NEAREST)
		.map(({ name }) => name);
	const shown: string[] = [];
	let chars = 0;
	for (const name of [...nearest, ...names.filter((each) => !nearest.includes(each))]) {
		if (shown.length === MAX_NAMES) break;
		if (chars + name.length > MAX_CHARS) continue;
		chars += name.length;
		shown.push(name);
	}
	const more = names.length - shown.length;
	return more === 0 ? shown.join(", ") : `${shown.join(", ")} and ${more} more`;
}

/** The share of pairs of neighbouring characters that two names have in common. */
export function likeness(a: string, b: string): number {
	const pairs = (text: string) =>
		new Set(Array.from(text.toLowerCase()).map((char, at, all) => char + (all[at + 1] ?? "")));
	const [left, right] = [pairs(a), pairs(b)];
	const common = [...left].filter((pair) => right.has(pair)).length;
	return (2 * common) / (left.size + right.size);
}
