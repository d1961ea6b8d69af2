import type { Catalog } from "../definitions/catalog.ts";
import type { Amounts } from "../domain/budget.ts";
import type { Finding } from "../present/doctor-text.ts";
import { definitionLimit, type Limit, limitLine, settingLimits } from "../present/limits-text.ts";
import type { LoadedSettings } from "../settings/settings.ts";

/** What limits are in force, and where they come from. `spent` is what the session has used of its own budget. */
export function limitsInForce(
	{ settings, origins }: LoadedSettings,
	catalog: Catalog,
	spent: Amounts | undefined,
): readonly Limit[] {
	const definitions = [...catalog.entries.values()].flat().flatMap((entry) => {
		const limit = entry.kind === "usable" ? definitionLimit(entry.definition) : undefined;
		return limit ? [limit] : [];
	});
	return [...settingLimits(settings, (key) => origins.get(key) ?? "default", spent), ...definitions];
}

const MAX_LIMITS = 30;

export function checkLimits(limits: readonly Limit[], refusal: string | undefined): Finding {
	const lines = [
		...(refusal === undefined ? [] : [refusal]),
		...limits.slice(0, MAX_LIMITS).map(limitLine),
		...(limits.length > MAX_LIMITS ? [`and ${limits.length - MAX_LIMITS} more`] : []),
	];
	if (refusal !== undefined) return { level: "problem", title: "Limits: one cannot be read", lines };
	if (limits.length === 0) return { level: "fine", title: "Limits: none", lines };
	return { level: "fine", title: `Limits: ${limits.length} in force`, lines };
}
