import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { modelName } from "../domain/model-name.ts";
import type { SlotRequest } from "./protocol.ts";

const MAX_INTERVAL_MS = 2 ** 31 - 1;

/** Has the child wait for its turn before each request to a model that has a limit. */
export interface SlotRequests {
	listen(pi: ExtensionAPI): void;
	/** The supervisor has the slots of this request. */
	granted(id: number): void;
}

/** `limits` has how many requests may be in flight, by provider or provider/model. */
export function createSlotRequests(
	limits: Readonly<Record<string, number>>,
	ask: (request: SlotRequest) => void,
): SlotRequests {
	let last = 0;
	let holds = false;
	let proceed = () => {};
	/** The narrower limit comes first: a child that waits for it must not hold a slot of the wider one. */
	const keysFor = ({ model }: ExtensionContext): string[] =>
		model ? [modelName(model), model.provider].filter((key) => Object.hasOwn(limits, key)) : [];
	const release = () => {
		if (!holds) return;
		holds = false;
		ask({ id: ++last, keys: [] });
	};
	return {
		granted(id) {
			if (id === last) proceed();
		},
		listen(pi) {
			if (Object.keys(limits).length === 0) return;
			pi.on("before_provider_request", async (_event, context) => {
				const keys = keysFor(context);
				if (keys.length === 0) return release();
				holds = true;
				const id = ++last;
				const waits = setInterval(() => {}, MAX_INTERVAL_MS); // nothing else keeps this process alive meanwhile
				await new Promise<void>((resolve) => {
					proceed = resolve;
					context.signal?.addEventListener("abort", () => resolve(), { once: true });
					ask({ id, keys });
				});
				clearInterval(waits);
			});
			pi.on("message_end", ({ message }) => {
				if (message.role === "assistant") release();
			});
			// A compaction asks without a message of its own.
			for (const event of ["session_compact", "session_compact_failed", "agent_end", "session_shutdown"] as const) {
				pi.on(event as "agent_end", release);
			}
		},
	};
}
