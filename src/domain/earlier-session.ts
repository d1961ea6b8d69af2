/** The session that a call of an agent asks for, as it is before the run. */
export type EarlierSession =
	| { readonly kind: "continued"; readonly messages: number }
	/** `others`: the agents and directories that have used the id before; theirs are other sessions. */
	| { readonly kind: "new"; readonly others: readonly string[] };
