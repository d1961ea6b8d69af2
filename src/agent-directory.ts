import { getAgentDir } from "@earendil-works/pi-coding-agent";

/** Where definitions, settings and, if need be, runs are kept. The first variable is this package's own, the second pi's. */
export const agentDirectory = (): string => process.env.PI_AGENT_DIR || getAgentDir();
