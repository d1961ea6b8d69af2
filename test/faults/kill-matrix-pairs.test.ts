import { VICTIMS } from "./kill-matrix.ts";
import { testKills } from "./kill-matrix-tests.ts";

testKills(VICTIMS.filter(({ length }) => length > 1));
