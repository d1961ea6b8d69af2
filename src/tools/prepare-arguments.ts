/** As much of a JSON schema as the parameters of our tools are made of. */
interface Schema {
	readonly type?: unknown;
	readonly properties?: Readonly<Record<string, Schema>>;
	readonly required?: readonly string[];
	readonly items?: Schema;
	readonly anyOf?: readonly Schema[];
}

/**
 * The arguments of a call before pi validates them. Models write lists and objects as JSON texts, and fill fields that they
 * do not need with "": the texts are parsed, and an empty optional field counts as missing. All else stays as it is, for
 * validation to refuse.
 */
export function prepareArguments<T>(schema: object, args: unknown): T {
	return prepare(schema, args) as T;
}

function prepare(schema: Schema, value: unknown): unknown {
	if (schema.anyOf) return prepareChoice(schema.anyOf, value);
	if (schema.type === "array") return prepareList(schema, parsed(value));
	return schema.type === "object" ? prepareFields(schema, parsed(value)) : value;
}

function prepareList({ items = {} }: Schema, value: unknown): unknown {
	if (Array.isArray(value)) return value.map((item) => prepare(items, item));
	return isObject(value) ? prepare(items, value) : value; // pi makes a list of one
}

function prepareFields({ properties = {}, required = [] }: Schema, value: unknown): unknown {
	if (!isObject(value)) return value;
	const isGiven = ([key, given]: readonly [string, unknown]) =>
		!(Object.hasOwn(properties, key) && !required.includes(key) && typeof given === "string" && given.trim() === "");
	return Object.fromEntries(
		Object.entries(value)
			.filter(isGiven)
			.map(([key, given]) => [key, Object.hasOwn(properties, key) ? prepare(properties[key] ?? {}, given) : given]),
	);
}

/** A text that may be meant as a text is taken for an object only if it has what that object needs. */
function prepareChoice(choices: readonly Schema[], value: unknown): unknown {
	const fields = choices.find(({ type }) => type === "object");
	const object = parsed(value);
	if (!fields || !isObject(object)) return value;
	const isComplete = fields.required?.every((key) => Object.hasOwn(object, key)) ?? true;
	return isComplete ? prepareFields(fields, object) : value;
}

/** What a text says if it is a JSON list or object; anything else as it is. */
function parsed(value: unknown): unknown {
	if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
	try {
		return JSON.parse(value) as unknown;
	} catch {
		return value;
	}
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
	typeof value === "object" && value !== null && !Array.isArray(value);
