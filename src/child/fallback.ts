import type { AssistantMessage } from "@earendil-works/pi-ai";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type FailedModel, isProviderFailure } from "../domain/provider-failure.ts";
import type { ModelRef } from "../domain/spec.ts";

/**
 * When the provider has failed and pi has given up retrying, the run goes on with the next of these models. Nothing is
 * replayed: the failed message is left out of the context, as pi does for its own retries, and the next request holds what
 * was said before it.
 */
export function fallBack(
	pi: ExtensionAPI,
	models: readonly ModelRef[],
	tell: (failed: FailedModel) => void,
	onModel: (context: ExtensionContext) => Promise<void>,
): void {
	if (models.length === 0) return;
	const left = [...models];
	let failed: AssistantMessage | undefined;
	const useNext = async (context: ExtensionContext): Promise<boolean> => {
		for (let next = left.shift(); next; next = left.shift()) {
			const model = context.modelRegistry.find(next.provider, next.id);
			const thinking = next.thinking ?? pi.getThinkingLevel();
			if (model && (await pi.setModel(model))) {
				pi.setThinkingLevel(thinking as never);
				await onModel(context);
				return true;
			}
			tell({ provider: next.provider, id: next.id, message: "pi has no such model, or no key for it" });
		}
		return false;
	};
	pi.on("message_end", ({ message }) => {
		if (message.role === "assistant") failed = message.stopReason === "error" ? message : undefined;
	});
	pi.on("agent_before_settle", async ({ outcome, entries }, context) => {
		const { errorMessage = "" } = failed ?? {};
		if (!failed || outcome !== "error" || left.length === 0 || !isProviderFailure(errorMessage)) return undefined;
		const target = context.sessionManager
			.getBranch()
			.findLast(
				(entry) =>
					entry.type === "message" && entry.message.role === "assistant" && entry.message.stopReason === "error",
			);
		if (!target) return undefined;
		const { provider, model: id } = failed;
		if (!(await useNext(context))) return undefined;
		tell({ provider, id, message: errorMessage });
		failed = undefined;
		return { entries: [...entries, { type: "context_edit", targetId: target.id, replacement: null }], continue: true };
	});
}
