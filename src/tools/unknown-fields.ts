/** What a call has that its tool does not: it may have been meant, so it is not passed over. Undefined where there is none. */
export function unknownFields(tool: string, fields: object, known: readonly string[]): string | undefined {
	const unknown = Object.keys(fields).filter((key) => !known.includes(key));
	return unknown.length > 0 ? `${tool} does not take ${unknown.join(", ")}` : undefined;
}
