import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { PACKAGE_TOOLS } from "../domain/package-tools.ts";
import { changedFilesText } from "../present/changed-files.ts";
import { createReadFiles } from "../session/read-files.ts";
import { type Host, settingsOf } from "./host.ts";
import { isNested } from "./structured.ts";

/** Tells the agent, in the next result of a sub-agent, which files that it had read have changed since. */
export interface ChangedFiles {
	listen(pi: ExtensionAPI): void;
	/** For a result that is no tool's. Undefined where there is nothing to tell. */
	take(context: ExtensionContext): string | undefined;
	/** Another session begins. */
	clear(): void;
}

export function createChangedFiles(warn: Host["warn"]): ChangedFiles {
	const files = createReadFiles();
	/** A script has called a sub-agent: the agent reads what the script returns. */
	let isDue = false;
	const take = (context: ExtensionContext) => {
		const names = files.takeChanged(context.cwd);
		return names.length > 0 && settingsOf({ warn }, context).writeGuard ? changedFilesText(names) : undefined;
	};
	return {
		take,
		clear: files.clear,
		listen(pi) {
			pi.on("tool_execution_start", ({ toolCallId, toolName, args }, { cwd }) =>
				files.started(toolCallId, toolName, args, cwd),
			);
			pi.on("tool_execution_end", ({ toolCallId, isError }) => files.ended(toolCallId, isError ? "failed" : "done"));
			pi.on("tool_result", (event, context) => {
				isDue ||= PACKAGE_TOOLS.includes(event.toolName);
				if (!isDue || isNested(event.toolCallId)) return undefined;
				isDue = false;
				const text = take(context);
				if (text === undefined) return undefined;
				// pi 1.x drops structured content where only the content is given back.
				const { structuredContent } = event as { readonly structuredContent?: unknown };
				const kept = structuredContent === undefined ? {} : { structuredContent };
				return { ...kept, content: [...event.content, { type: "text" as const, text: `\n\n${text}` }] };
			});
		},
	};
}
