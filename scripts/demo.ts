import { spawn } from "node:child_process";
import { join } from "node:path";
import { createHome, type Home } from "../test/rig/home.ts";
import { startModelServer } from "../test/rig/model-server.ts";
import { type PiEvent, piCommand, runPi } from "../test/rig/pi.ts";
import { DEMO_FILES, demoModel } from "./demo-script.ts";

const EXTENSION = join(import.meta.dirname, "..", "index.js");
const PROMPT = "What is in this project, and what should be done next?";

/** The real pi with this extension, in a home that is thrown away, against a scripted model on this machine. */
const server = await startModelServer(demoModel);
const home = createHome(server);
for (const [path, content] of Object.entries(DEMO_FILES)) home.write(path, content);
try {
	process.exitCode = process.stdin.isTTY && process.stdout.isTTY ? await inTerminal(home) : await inPlainText(home);
} finally {
	await server.close();
	home.dispose();
}

function inTerminal({ env, project }: Home): Promise<number> {
	const [command = "", ...args] = piCommand(["--no-session", "-e", EXTENSION, PROMPT]);
	process.on("SIGINT", () => {}); // Ctrl+C is pi's
	return new Promise((resolve, reject) => {
		const pi = spawn(command, args, { cwd: project, env: { ...env, TERM: process.env.TERM ?? "" }, stdio: "inherit" });
		pi.once("error", reject);
		pi.once("exit", (code) => resolve(code ?? 1));
	});
}

async function inPlainText(at: Home): Promise<number> {
	console.log(`> ${PROMPT}\n`);
	const pi = runPi(at, { prompt: PROMPT, extension: EXTENSION, timeoutMs: 120_000 });
	let told = 0;
	let status = "";
	const timer = setInterval(() => {
		for (; told < pi.events.length; told++) status = tell(pi.events[told], status);
	}, 50);
	const { code, events, stderr } = await pi.done;
	clearInterval(timer);
	for (; told < events.length; told++) status = tell(events[told], status);
	if (stderr.trim() !== "") console.error(stderr);
	return code ?? 1;
}

/** Prints what is new in an event and returns the status line that is current then. */
function tell(event: PiEvent | undefined, status: string): string {
	if (event?.type === "tool_execution_update") {
		const line = textOf(event.partialResult);
		if (line !== status) console.log(`  ${line}`);
		return line;
	}
	if (event?.type === "message_end") {
		const { role } = event.message as { role?: string };
		const said = textOf(event.message);
		if (said !== "" && (role === "assistant" || role === "toolResult")) console.log(`${said}\n`);
	}
	return status;
}

function textOf(holder: unknown): string {
	const { content } = holder as { content?: unknown };
	if (!Array.isArray(content)) return "";
	return (content as { type?: string; text?: string }[])
		.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : []))
		.join("\n");
}
