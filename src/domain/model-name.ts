/** A model as people and settings write it. */
export const modelName = ({ provider, id }: { readonly provider: string; readonly id: string }): string =>
	`${provider}/${id}`;
