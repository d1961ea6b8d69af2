import { limitIn } from "../domain/budget.ts";

/** How one setting is read. `undefined` means that the value is not one. */
export interface Field<T> {
	readonly key: string;
	readonly fallback: T;
	parse(value: unknown): T | undefined;
	readonly setBy: SetBy<T>;
	/** What it must be. No run starts where it is not. */
	readonly mustBe?: string;
}

/** What a project may do to the person's own value. */
export type SetBy<T> =
	/** Replace it. */
	| { readonly kind: "any" }
	/** Only make it stricter. */
	| { readonly kind: "tighten"; isLooser(asked: T, current: T): boolean }
	/** Nothing: it is about the person's own machine. */
	| { readonly kind: "person" };

export const ANY = { kind: "any" } as const;
export const PERSON = { kind: "person" } as const;
/** No limit at all is the loosest. */
export const TIGHTEN_NUMBER: SetBy<number | undefined> = {
	kind: "tighten",
	isLooser: (asked, current) => current !== undefined && (asked ?? Number.POSITIVE_INFINITY) > current,
};

export const clamped = (key: string, fallback: number, min: number, max: number): Field<number> => ({
	key,
	fallback,
	parse: (value) =>
		typeof value === "number" && Number.isFinite(value) ? Math.min(max, Math.max(min, Math.floor(value))) : undefined,
	setBy: ANY,
});
/** Who asks for more than there can be is told what is used instead. */
export const ranged = (key: string, fallback: number, min: number, max: number): Field<number> => ({
	key,
	fallback,
	parse: (value) => (typeof value === "number" && value >= min && value <= max ? Math.floor(value) : undefined),
	setBy: ANY,
});
export const flag = (key: string, fallback: boolean): Field<boolean> => ({
	key,
	fallback,
	parse: (value) => (typeof value === "boolean" ? value : undefined),
	setBy: ANY,
});
export const choice = <T extends string>(key: string, options: readonly [T, ...T[]]): Field<T> => ({
	key,
	fallback: options[0],
	parse: (value) => options.find((option) => option === value),
	setBy: ANY,
});

export const limit = (key: string, kind: "whole" | "any"): Field<number | undefined> => ({
	key,
	fallback: undefined,
	parse: (value) => limitIn(value, kind),
	mustBe: kind === "whole" ? "a whole number above 0" : "a number above 0",
	setBy: TIGHTEN_NUMBER,
});
