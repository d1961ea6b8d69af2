/** What the parent needs of trees, and only where a run has one: the bundle has it in a file of its own. */
export { applyChanges, diffOf, discardChanges, undoChanges } from "./apply.ts";
export { runBranches } from "./git.ts";
export { whyNoTree } from "./layers.ts";
export { endTree } from "./own-tree.ts";
