import { fitsTool } from "../definitions/dialects/tool-names.ts";
import type { ToolPolicy } from "../domain/definition.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { isMcpTool } from "../domain/tool-pattern.ts";
import { available, type OwnPolicy, type SessionTools } from "./tools.ts";

/**
 * What a policy comes to in this session. A foreign file names tools that pi may not have: they are left out. `tools` is
 * asked only for such a policy.
 */
export function ownPolicy(policy: ToolPolicy, tools: () => SessionTools): Result<OwnPolicy> {
	switch (policy.kind) {
		case "allow-known": {
			const { names, but } = policy;
			const known = available(tools()).filter((tool) => fits(names, tool) && !fits(but, tool));
			if (known.length > 0) return ok({ kind: "allow", names: known });
			return err(`none of its tools is there: ${names.join(", ")}`);
		}
		case "deny-known": {
			const { names } = policy;
			// A server that is not connected yet has not said which tools it has.
			const pending = names.filter(isMcpTool);
			const known = available(tools()).filter((tool) => fits(names, tool));
			return ok({ kind: "deny", names: [...new Set([...known, ...pending])], from: "active" });
		}
		default:
			return ok(policy);
	}
}

/** What a definition names and this session does not have. */
export function leftOutTools(policy: ToolPolicy, tools: () => SessionTools): readonly string[] {
	if (policy.kind !== "allow-known") return [];
	const all = available(tools());
	return policy.names.filter((entry) => !all.some((tool) => fitsTool(entry, tool)));
}

const fits = (entries: readonly string[], tool: string) => entries.some((entry) => fitsTool(entry, tool));
