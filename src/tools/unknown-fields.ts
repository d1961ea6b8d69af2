/** What a call has that its tool does not: it may have been meant, so it is not passed over. Undefined where there is none. */
export function unknownFields(tool: string, fields: object, known: readonly string[]): string | undefined {
	const unknown = Object.keys(fields).filter((key) => !known.includes(key));
	return unknown.length > 0 ? `${tool} does not take ${unknown.join(", ")}` : undefined;
}

/** Refuses such a call with the form that is right, for a tool that takes one object of fields. Throws the refusal. */
export function refuseUnknownFields(
	tool: string,
	fields: object,
	{ properties, required = [] }: { readonly properties: object; readonly required?: readonly string[] | undefined },
): void {
	const known = Object.keys(properties);
	const unknown = unknownFields(tool, fields, known);
	const form = known.map((key) => (required.includes(key) ? key : `${key}?`)).join(", ");
	if (unknown !== undefined) throw new Error(`${unknown}. Valid form: {${form}}`);
}
