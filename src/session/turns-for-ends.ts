import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { COMPLETION_MESSAGE } from "../records/session-entries.ts";
import type { Background } from "./background.ts";

/** Starts a turn, and says nothing that the announcements have not said. */
export const TURN_MESSAGE = "pi-subagents:bg-turn";
/** Runs that end together give one turn. */
const TOGETHER_MS = 100;

interface TurnSettings {
	readonly announce: "quiet" | "turn";
	readonly waitInPrintMode: boolean;
	/** Seconds. */
	readonly printModeTimeout: number;
}

interface Session {
	readonly pi: ExtensionAPI;
	readonly background: Background;
	/** Undefined between two sessions. */
	context(): ExtensionContext | undefined;
	settings(context: ExtensionContext): TurnSettings;
	/** Aborted when the session ends. */
	sessionSignal(): AbortSignal;
	/** Background runs that this process has started and that run. */
	running(): readonly string[];
}

const isHeadless = ({ mode }: ExtensionContext) => mode === "print" || mode === "json";

/**
 * Gives the model a turn for the ends of background runs: in print and JSON mode pi stays until they have ended, and with
 * `announce: "turn"` an end starts a turn as soon as the agent is idle.
 */
export function giveTurnsForEnds(session: Session): void {
	const { pi, background } = session;
	const { news } = background;
	let deadline: number | undefined;
	let timer: NodeJS.Timeout | undefined;
	const giveTurn = (when: "idle" | "settled") => {
		const context = session.context();
		if (!context || isHeadless(context) || news.unseen.size === 0) return;
		if (session.settings(context).announce !== "turn" || (when === "idle" && !context.isIdle())) return;
		news.clear();
		const content = "Background agents have ended.";
		pi.sendMessage({ customType: TURN_MESSAGE, content, display: false }, { triggerTurn: true });
	};
	news.subscribe(() => {
		clearTimeout(timer);
		timer = setTimeout(giveTurn, TOGETHER_MS, "idle").unref();
	});
	pi.on("context", ({ messages }) => {
		if (news.unseen.size === 0) return;
		for (const message of messages) {
			if (message.role !== "custom" || message.customType !== COMPLETION_MESSAGE) continue;
			const { runId } = (message.details ?? {}) as { runId?: unknown };
			if (typeof runId === "string") news.seen(runId);
		}
	});
	pi.on("agent_settled", () => giveTurn("settled"));
	pi.on("agent_before_settle", async ({ outcome }, context) => {
		if (!isHeadless(context) || outcome !== "completed") return undefined;
		const { waitInPrintMode, printModeTimeout } = session.settings(context);
		if (!waitInPrintMode) return undefined;
		deadline ??= performance.now() + printModeTimeout * 1_000;
		await endOfOne(session, deadline);
		return [...news.unseen].some(background.isOwn) ? { continue: true } : undefined;
	});
}

/** Resolves when a run that this process has started has ended, when none runs, or when the time is over. */
function endOfOne({ background, running, sessionSignal }: Session, deadline: number): Promise<void> {
	const { news } = background;
	return new Promise((resolve) => {
		const settle = () => {
			clearTimeout(timer);
			leave();
			signal.removeEventListener("abort", settle);
			resolve();
		};
		const look = () => {
			if (running().length === 0 || [...news.unseen].some(background.isOwn)) settle();
		};
		const signal = sessionSignal();
		const leave = news.subscribe(look);
		// It also keeps this process alive: the connections to background runs do not.
		const timer = setTimeout(settle, Math.max(0, deadline - performance.now()));
		signal.addEventListener("abort", settle);
		if (signal.aborted) settle();
		look();
	});
}
