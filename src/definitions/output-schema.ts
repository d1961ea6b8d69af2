import { Compile } from "typebox/compile";
import type { OutputSchema } from "../domain/definition.ts";
import { err, ok, type Result } from "../domain/result.ts";

/** As JSON without white space. It is sent with every request of the child. */
const MAX_SCHEMA_BYTES = 32 * 1024;

/** Reads a text file whose path starts from the definition's own file. */
export type ReadBeside = (path: string) => Result<string>;

/** The schema in a field, or in the file that the field names. */
export function readSchema(value: unknown, readBeside: ReadBeside): Result<OutputSchema> {
	if (typeof value !== "string") return checkSchema(value);
	const path = value.trim();
	const text = readBeside(path);
	if (!text.ok) return err(`names ${path}, which ${text.error}`);
	let parsed: unknown;
	try {
		parsed = JSON.parse(text.value.replace(/^\uFEFF/, ""));
	} catch {
		return err(`names ${path}, which is not JSON`);
	}
	const schema = checkSchema(parsed);
	return schema.ok ? schema : err(`names ${path}, which ${schema.error}`);
}

function checkSchema(value: unknown): Result<OutputSchema> {
	const text = jsonOf(value);
	if (text === undefined || !text.startsWith("{")) return err(`${NO_SCHEMA}: an object such as {type: object}`);
	if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES) return err(`is larger than ${MAX_SCHEMA_BYTES / 1024} KB`);
	const { $schema: _dialect, $id: _id, ...schema } = JSON.parse(text) as Record<string, unknown>;
	const [problem] = Compile(METASCHEMA).Errors(schema);
	if (problem) return err(`${NO_SCHEMA}: ${problem.instancePath.slice(1) || "it"} ${problem.message}`);
	const lost = refsIn(schema).find((ref) => !leadsSomewhere(schema, ref));
	if (lost !== undefined) return err(`${NO_SCHEMA}: nothing in it is called ${JSON.stringify(lost)}`);
	try {
		Compile(schema);
	} catch (error) {
		return err(`${NO_SCHEMA}: ${(error as Error).message}`); // a pattern that is none
	}
	return ok(schema);
}

const NO_SCHEMA = "must be a JSON Schema";

/** Undefined for what JSON cannot say. */
function jsonOf(value: unknown): string | undefined {
	try {
		return JSON.stringify(value);
	} catch {
		return undefined; // YAML can refer to itself
	}
}

/** All references but those in values, which are none. */
function refsIn(schema: unknown): string[] {
	if (typeof schema !== "object" || schema === null) return [];
	return Object.entries(schema).flatMap(([key, value]) => {
		if (key === "const" || key === "enum" || key === "default" || key === "examples") return [];
		return key === "$ref" && typeof value === "string" ? [value] : refsIn(value);
	});
}

/** References to other files or servers lead nowhere: nothing is fetched. */
function leadsSomewhere(schema: unknown, ref: string): boolean {
	if (ref !== "#" && !ref.startsWith("#/")) return false;
	const steps = ref.split("/").slice(1);
	const found = steps.reduce((at: unknown, step) => {
		const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
		return typeof at === "object" && at !== null && Object.hasOwn(at, key)
			? (at as Record<string, unknown>)[key]
			: undefined;
	}, schema);
	return typeof found === "boolean" || (typeof found === "object" && found !== null);
}

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];
const each = <T>(keys: string, value: T): Record<string, T> =>
	Object.fromEntries(keys.split(" ").map((key) => [key, value]));
const SCHEMA = { $ref: "#" };
const SCHEMAS = { type: "array", minItems: 1, items: SCHEMA };
const TEXTS = { type: "array", items: { type: "string" } };

/** What a schema looks like, as far as a mistake would change what it means. Unknown words are allowed everywhere. */
const METASCHEMA = {
	type: ["object", "boolean"],
	properties: {
		type: { anyOf: [{ enum: TYPES }, { type: "array", minItems: 1, items: { enum: TYPES } }] },
		enum: { type: "array", minItems: 1 },
		required: TEXTS,
		items: { anyOf: [SCHEMA, SCHEMAS] },
		multipleOf: { type: "number", exclusiveMinimum: 0 },
		dependentRequired: { type: "object", additionalProperties: TEXTS },
		...each("allOf anyOf oneOf prefixItems", SCHEMAS),
		...each("properties patternProperties $defs definitions dependentSchemas", {
			type: "object",
			additionalProperties: SCHEMA,
		}),
		...each("additionalProperties propertyNames contains not if then else additionalItems", SCHEMA),
		...each("unevaluatedProperties unevaluatedItems", SCHEMA),
		...each("minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains", {
			type: "integer",
			minimum: 0,
		}),
		...each("minimum maximum exclusiveMinimum exclusiveMaximum", { type: "number" }),
		...each("pattern format title description $ref $comment", { type: "string" }),
		uniqueItems: { type: "boolean" },
	},
};
