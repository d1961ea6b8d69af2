export function median(values: readonly number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	const middle = Math.floor(sorted.length / 2);
	return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

export const ms = (value: number): string => `${Math.round(value)} ms`;
export const times = (value: number): string => `${value.toFixed(2)} ×`;

/** A table in plain text, columns as wide as they need to be. */
export function printTable(title: string, rows: readonly (readonly string[])[]): void {
	const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => [...(row[column] ?? "")].length)));
	console.log(`\n${title}`);
	for (const row of rows) console.log(`  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("   ")}`);
}
