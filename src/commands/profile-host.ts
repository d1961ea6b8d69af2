import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { Catalog } from "../definitions/catalog.ts";
import type { Changes } from "../definitions/write.ts";
import type { AgentDefinition } from "../domain/definition.ts";
import type { Listed } from "../domain/listed.ts";
import type { Result } from "../domain/result.ts";
import { sanitize } from "../present/sanitize.ts";
import type { OfferedModel } from "./profile-wizard.ts";

/** What the command needs of the session. */
export interface ProfileHost {
	catalog(): Catalog;
	/** All names, and whether they can be called in this session. */
	list(): readonly Listed[];
	/** A foreign definition in the words of our profiles, or why it cannot be called in this session. */
	imported(definition: AgentDefinition): Result<Changes>;
	/** Those that a sub-agent can be given. */
	models(): readonly OfferedModel[];
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
