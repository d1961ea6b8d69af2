import { parseArgs } from "node:util";
import { soakChildren } from "./children.ts";
import { soakDeltas } from "./deltas.ts";
import { soakEventLoop } from "./event-loop.ts";
import { soakMatrix } from "./matrix.ts";
import { soakRuns } from "./runs.ts";
import { soakSessionStart } from "./session-start.ts";
import { printVerdicts, type Verdict } from "./verdict.ts";
import { soakWriteGuard } from "./write-guard.ts";

/**
 * `npm run soak`, or `npm run soak -- deltas runs` for some parts. `--times` is for each cell of the matrix, `--runs` for
 * how many the parent's memory is watched, `--schedules` for the writers of one file without pi. Ends with 1 where a promise was broken.
 */
const { values, positionals } = parseArgs({
	options: {
		times: { type: "string", default: "20" },
		runs: { type: "string", default: "5000" },
		schedules: { type: "string", default: "20000" },
	},
	allowPositionals: true,
});

const PARTS: Readonly<Record<string, () => Promise<Verdict[]>>> = {
	"session-start": soakSessionStart,
	"event-loop": soakEventLoop,
	children: async () => [...(await soakChildren(1)), ...(await soakChildren(2))],
	deltas: soakDeltas,
	runs: () => soakRuns(Number(values.runs)),
	"write-guard": () => soakWriteGuard(Number(values.schedules)),
	matrix: () => soakMatrix(Number(values.times)),
};

const unknown = positionals.filter((name) => !(name in PARTS));
if (unknown.length > 0) throw new Error(`Unknown: ${unknown.join(", ")}. There are: ${Object.keys(PARTS).join(", ")}`);
let broken = 0;
for (const [name, part] of Object.entries(PARTS)) {
	if (positionals.length > 0 && !positionals.includes(name)) continue;
	const verdicts = await part();
	printVerdicts(name, verdicts);
	broken += verdicts.filter(({ kept }) => !kept).length;
}
process.exitCode = broken > 0 ? 1 : 0;
