/**
 * For tools that only read. Permission extensions of pi 1.x take a tool without this hint for a destructive one; pi 0.87 has no
 * hints, and its types no such field.
 */
export const READ_ONLY: object = { annotations: { readOnlyHint: true } };
