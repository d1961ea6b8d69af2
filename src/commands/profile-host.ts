import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { Catalog } from "../definitions/catalog.ts";
import type { Listed } from "../domain/listed.ts";
import { sanitize } from "../present/sanitize.ts";

/** What the command needs of the session. */
export interface ProfileHost {
	catalog(): Catalog;
	/** All names, and whether they can be called in this session. */
	list(): readonly Listed[];
	/** After a file was changed. */
	invalidate(): void;
	readonly agentDirectory: string;
}

/** Without a screen the answer is text on stderr: stdout belongs to pi's own output. */
export function tell(
	{ hasUI, ui }: Pick<ExtensionCommandContext, "hasUI" | "ui">,
	text: string,
	type: "info" | "warning" | "error",
): void {
	const printable = sanitize(text);
	if (hasUI) ui.notify(printable, type);
	else process.stderr.write(`${printable}\n`);
}
