import { test } from "node:test";
import { HISTORIES, MAX_HISTORIES_MS, playHistories, SEED } from "./random-histories.ts";

test(
	`Random histories lose nothing, tell nothing twice and leave no process: the second third of ${HISTORIES}, seed ${SEED} [I1–I4, F51]`,
	{
		timeout: MAX_HISTORIES_MS,
	},
	(t) => playHistories(1, t),
);
