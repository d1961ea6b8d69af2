import { footerText } from "../../src/present/background-text.ts";
import type { SessionEntry } from "../../src/records/session-entries.ts";
import type { SessionPort } from "../../src/session/end-announcements.ts";
import { PATIENCE_MS } from "./until.ts";

/** A session of pi as background runs see it: it keeps what it is told, in order. */
export interface RecordedSession {
	readonly port: SessionPort;
	/** As the session file would have them. */
	readonly entries: SessionEntry[];
	readonly notifications: { readonly text: string; readonly kind: string }[];
	/** Every text of the footer, in order. */
	readonly statuses: (string | undefined)[];
	readonly warnings: string[];
	/** The data of the entries of a type, or the details of its messages. */
	of(customType: string): Readonly<Record<string, unknown>>[];
	/** From here on the session refuses everything, as one that is over does. */
	end(): void;
	/** Resolves as soon as it holds; it is looked at whenever the session is told something. */
	until(holds: () => boolean, timeoutMs?: number): Promise<void>;
}

export function createRecordedSession(id = "recorded"): RecordedSession {
	const entries: SessionEntry[] = [];
	const notifications: RecordedSession["notifications"] = [];
	const statuses: (string | undefined)[] = [];
	const warnings: string[] = [];
	const watchers = new Set<() => void>();
	let over = false;
	const told = (act: () => void) => {
		if (over) throw new Error("This session is over.");
		act();
		for (const watcher of [...watchers]) watcher();
	};
	return {
		port: {
			sessionId: () => id,
			appendEntry: (customType, data) => told(() => entries.push({ type: "custom", customType, data: copy(data) })),
			post: (customType, text, details) =>
				told(() => entries.push({ type: "custom_message", customType, data: text, details: copy(details) })),
			notify: (text, kind) => told(() => notifications.push({ text, kind })),
			showStatus: (counts) => told(() => statuses.push(footerText(0, counts))),
			publish: () => {},
			warn: (text) => void warnings.push(text),
		},
		entries,
		notifications,
		statuses,
		warnings,
		of: (wanted) =>
			entries
				.filter(({ customType }) => customType === wanted)
				.map(({ type, data, details }) => ({ ...((type === "custom" ? data : details) as object) })),
		end: () => {
			over = true;
		},
		until: (holds, timeoutMs = PATIENCE_MS) =>
			new Promise((resolve, reject) => {
				const look = () => {
					if (!holds()) return;
					clearTimeout(timer);
					watchers.delete(look);
					resolve();
				};
				const timer = setTimeout(() => {
					watchers.delete(look);
					reject(new Error(`It did not come about. The session has: ${JSON.stringify(entries)}`));
				}, timeoutMs);
				watchers.add(look);
				look();
			}),
	};
}

/** What a session file gives back. */
const copy = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
