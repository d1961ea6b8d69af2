import { benchCold } from "./cold.ts";
import { benchDefinitions, benchForeign } from "./definitions.ts";
import { benchFollower } from "./follower.ts";
import { benchHistory } from "./history.ts";
import { benchReceipts } from "./receipts.ts";
import { benchLoad, benchStart } from "./start.ts";
import { benchWindows } from "./windows.ts";
import { benchWriteGuard } from "./write-guard.ts";

const BENCHES = {
	start: () => benchStart(5),
	load: () => benchLoad(12),
	cold: () => benchCold(5),
	history: () => benchHistory(5),
	follower: benchFollower,
	windows: benchWindows,
	definitions: benchDefinitions,
	receipts: benchReceipts,
	"write-guard": benchWriteGuard,
	"foreign-definitions": async () => benchForeign(),
} as const;

/** `npm run bench`, or `npm run bench -- start follower` for some of them. */
const asked = process.argv.slice(2);
for (const [name, bench] of Object.entries(BENCHES)) {
	if (asked.length === 0 || asked.includes(name)) await bench();
}
