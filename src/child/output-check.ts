import type { OutputSchema } from "../domain/definition.ts";
import type { FitsSchema } from "../domain/finalized.ts";
import { err, ok } from "../domain/result.ts";

/** Where validator.ts leaves pi's validator. */
export const VALIDATOR = Symbol.for("pi-subagents.validator");

/** The part of typebox's `Compile` that is used. */
type Compile = (schema: OutputSchema) => {
	Check(value: unknown): boolean;
	Errors(value: unknown): readonly { readonly instancePath: string; readonly message: string }[];
};

const NO_VALIDATOR_EXIT_CODE = 73;
const MAX_PROBLEMS = 10;

/** Checks answers with pi's validator. Without it the child ends: no answer goes unchecked. */
export function createOutputCheck(schema: OutputSchema): FitsSchema {
	const compile = (globalThis as Record<symbol, unknown>)[VALIDATOR] as Compile | undefined;
	if (!compile) {
		process.stderr.write("The definition's output cannot be checked: this version of pi brings no validator\n");
		process.exit(NO_VALIDATOR_EXIT_CODE);
	}
	const { Check, Errors } = boundTo(compile(schema));
	return (value) => {
		if (value === undefined) return err("SUCCESS needs a result that fits its schema");
		if (Check(value)) return ok(value);
		// Some models write a value as a text.
		const meant = typeof value === "string" ? parse(value) : undefined;
		if (meant !== undefined && Check(meant)) return ok(meant);
		return err(describe(Errors(meant ?? value)));
	};
}

const boundTo = (validator: ReturnType<Compile>) => ({
	Check: (value: unknown) => validator.Check(value),
	Errors: (value: unknown) => validator.Errors(value),
});

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

function describe(problems: ReturnType<ReturnType<Compile>["Errors"]>): string {
	const lines = [...new Set(problems.map(({ instancePath, message }) => `- result${instancePath}: ${message}`))];
	const more = lines.length > MAX_PROBLEMS ? [`- and ${lines.length - MAX_PROBLEMS} more`] : [];
	return ["The result does not fit its schema:", ...lines.slice(0, MAX_PROBLEMS), ...more].join("\n");
}

/**
 * The schema as the property `result` of a tool's parameters, and what goes beside the properties. A reference starts from
 * the top of the parameters: shared parts move there, where every provider finds them.
 */
export function asResult({ $defs, definitions, ...schema }: OutputSchema): {
	readonly result: OutputSchema;
	readonly beside: OutputSchema;
} {
	const moved = <T>(value: T): T =>
		JSON.parse(JSON.stringify(value), (key, each: unknown) =>
			key === "$ref" && typeof each === "string" ? movedRef(each) : each,
		) as T;
	return {
		result: { description: "With SUCCESS: your whole answer", ...moved(schema) },
		beside: moved({ ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) }),
	};
}

const movedRef = (ref: string) =>
	/^#\/(\$defs|definitions)\//.test(ref) ? ref : ref.replace("#", "#/properties/result");
