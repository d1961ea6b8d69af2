import { benchSystems } from "./start.ts";
import { installPeers, ourSystem } from "./systems.ts";

/** `npm run bench:peers`, or `npm run bench:peers -- 10` for more rounds. It installs other packages, and needs the network. */
const rounds = Number(process.argv[2] ?? 5);
const peers = installPeers();
const ours = ourSystem();
try {
	await benchSystems([ours.system, ours.cold, ...peers.systems], rounds);
} finally {
	ours.dispose();
	peers.dispose();
}
