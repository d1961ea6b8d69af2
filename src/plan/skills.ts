import { readFile, stat } from "node:fs/promises";
import { bodyOf } from "../definitions/frontmatter.ts";
import type { SkillPolicy } from "../domain/definition.ts";
import { nearestNames } from "../domain/nearest-names.ts";
import { err, ok, type Result } from "../domain/result.ts";

/** A skill as the session has it. */
export interface SessionSkill {
	readonly name: string;
	/** Of its SKILL.md. */
	readonly path: string;
}

export interface SkillPlan {
	readonly args: readonly string[];
	/** What is put into the system prompt, one block per skill. */
	readonly loaded: readonly string[];
}

const MAX_SKILL_BYTES = 1024 * 1024;

/** `skills` is asked only where a definition names any. */
export async function planSkills(
	policy: SkillPolicy,
	skills: () => readonly SessionSkill[],
): Promise<Result<SkillPlan>> {
	if (policy.kind === "inherit") return ok({ args: [], loaded: [] });
	if (policy.kind === "none") return ok({ args: ["--no-skills"], loaded: [] });
	const paths = new Map(skills().map(({ name, path }) => [name, path]));
	const unknown = [...new Set([...policy.suggested, ...policy.loaded])].filter((name) => !paths.has(name));
	if (unknown.length > 0) {
		const names = unknown.map((name) => `"${name}"`).join(", ");
		return err(
			`Unknown skills: ${names}. Available skills: ${nearestNames(unknown[0] ?? "", [...paths.keys()]) || "(none)"}`,
		);
	}
	const loaded: string[] = [];
	for (const name of policy.loaded) {
		const body = await readSkill(paths.get(name) ?? "");
		if (body === undefined) return err(`The skill "${name}" could not be read: ${paths.get(name)}`);
		loaded.push(`<loaded_skill name="${name}">\n${body}\n</loaded_skill>`);
	}
	return ok({ args: policy.suggested.flatMap((name) => ["--skill", paths.get(name) ?? ""]), loaded });
}

async function readSkill(path: string): Promise<string | undefined> {
	try {
		const { size } = await stat(path);
		return size > MAX_SKILL_BYTES ? undefined : bodyOf(await readFile(path, "utf8"));
	} catch {
		return undefined;
	}
}
