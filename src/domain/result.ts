/** An expected failure is a value with a reason; `throw` is for bugs. */
export type Result<T, E = string> =
	| { readonly ok: true; readonly value: T }
	| { readonly ok: false; readonly error: E };

export const ok = <T>(value: T): { readonly ok: true; readonly value: T } => ({ ok: true, value });
export const err = <E>(error: E): { readonly ok: false; readonly error: E } => ({ ok: false, error });

/** Ends a `switch` over a union: a member that was forgotten does not compile. */
export function unreachable(value: never): never {
	throw new Error(`unreachable: ${JSON.stringify(value)}`);
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
