import { type ModelRequest, type Reply, text, toolCalls } from "../rig/model-server.ts";
import { until } from "../rig/until.ts";
import { type Cleaner, createGuardStage, delegateCall, editFile, readFile, writeFile } from "./guard-setup.ts";

const LAST = "end\n";
const MAX_PAUSE_MS = 40;

export interface PlayedByPi {
	readonly acknowledged: number;
	readonly lost: readonly string[];
	readonly refusals: number;
}

/**
 * Random schedules with the real pi: so many sub-agents each add a line to one file after the other, all to the same file at a
 * time. Each either reads the file and writes it, or edits it; what is refused is done again.
 */
export async function playWithPi(
	t: Cleaner,
	{
		agents,
		schedules,
		writeGuard,
	}: { readonly agents: number; readonly schedules: number; readonly writeGuard: boolean },
): Promise<PlayedByPi> {
	const setup = await createGuardStage(t, { writeGuard });
	const fileOf = (schedule: number) => `f${schedule}.txt`;
	for (let schedule = 0; schedule < schedules; schedule++) setup.write(fileOf(schedule), `begin\n${LAST}`);
	const acknowledged: { readonly file: string; readonly line: string }[] = [];
	let refusals = 0;
	const arrived = new Map<number, number>();
	const names = Array.from({ length: agents }, (_, at) => `agent-${at}`);

	const createAgent = (name: string) => {
		let schedule = 0;
		let step: "begin" | "read" | "changed" = "begin";
		let tool: "write" | "edit" = "write";
		const line = () => `${name}/${schedule}`;
		/** The next change: all agents begin with a file at the same time. */
		const begin = async (): Promise<Reply> => {
			if (schedule === schedules) return text("done");
			arrived.set(schedule, (arrived.get(schedule) ?? 0) + 1);
			await until(() => (arrived.get(schedule) ?? 0) >= agents, `all agents at ${schedule}`);
			tool = Math.random() < 0.5 ? "write" : "edit";
			return change();
		};
		const change = (): Reply => {
			const delayMs = Math.random() * MAX_PAUSE_MS;
			step = tool === "write" ? "read" : "changed";
			if (tool === "write") return { ...readFile(fileOf(schedule)), delayMs };
			return toolCalls([editFile(fileOf(schedule), LAST.trim(), `${line()}\n${LAST.trim()}`)], { delayMs });
		};
		return async (request: ModelRequest): Promise<Reply> => {
			const told = request.messages.at(-1)?.text ?? "";
			if (step === "begin") return await begin();
			if (step === "read") {
				step = "changed";
				const content = told.replace(LAST.trim(), `${line()}\n${LAST.trim()}`);
				return { ...writeFile(fileOf(schedule), content), delayMs: Math.random() * MAX_PAUSE_MS };
			}
			if (!told.startsWith("Successfully")) {
				refusals++;
				return change();
			}
			acknowledged.push({ file: fileOf(schedule), line: line() });
			schedule++;
			return await begin();
		};
	};
	const play = new Map(names.map((name) => [name, createAgent(name)]));
	const step = (request: ModelRequest) => play.get(request.lastUser)?.(request) ?? text("nobody");
	const turns = Array.from({ length: schedules * 40 }, () => step);
	const { results } = await setup.start([[delegateCall(names)]], Object.fromEntries(names.map((name) => [name, turns])))
		.done;
	if (setup.server.scriptErrors.length > 0) throw setup.server.scriptErrors[0];
	if (results[0]?.text.match(/^✓/gm)?.length !== agents) throw new Error(results[0]?.text);
	const lost = acknowledged.filter(({ file, line }) => !setup.read(file).split("\n").includes(line));
	return { acknowledged: acknowledged.length, lost: lost.map(({ line }) => line), refusals };
}
