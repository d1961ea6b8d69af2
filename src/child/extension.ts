import { spawn } from "node:child_process";
import { Socket } from "node:net";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { createLineSplitter } from "../domain/lines.ts";
import { createRedactor } from "../domain/redact.ts";
import type { Packet } from "../domain/spec.ts";
import { requireFinalization } from "./finalization.ts";
import { PACKET_TIMEOUT_MS, RUN_MARKER } from "./protocol.ts";
import { NODE_FLAGS, scriptPath } from "./scripts.ts";

/** pi swallows what a handler throws and would go on without its task: a child in doubt ends with this code. */
const NO_PACKET_EXIT_CODE = 70;
const MISSING_TOOLS_EXIT_CODE = 71;
const NO_KEY_EXIT_CODE = 72;

/** Loaded by pi in every child, with `-e`: takes the packet from fd 3, and ends with whoever holds the other end. */
export default function child(pi: ExtensionAPI): void {
	const packet = receivePacket();
	let redact = createRedactor([]);
	let prompted = false;

	pi.on("session_start", async (_event, context) => {
		const { apiKey, contract } = await packet;
		if (contract.kind === "finalize") requireFinalization(pi, contract.attempts);
		if (!apiKey) return;
		redact = createRedactor([apiKey.key]);
		await useKey(context, apiKey.provider, apiKey.key);
	});

	// Not before: other extensions may still register tools when the session starts.
	pi.on("before_agent_start", async () => {
		const { requiredTools } = await packet;
		const tools = pi.getActiveTools();
		const missing = requiredTools.filter((name) => !tools.includes(name));
		if (missing.length === 0) return;
		const names = missing.map((name) => `"${name}"`).join(", ");
		process.stderr.write(`Unknown tools: ${names}. The sub-agent has: ${tools.join(", ") || "(none)"}\n`);
		process.exit(MISSING_TOOLS_EXIT_CODE);
	});

	// pi would call a sub-agent's first request the person's own.
	pi.on("before_provider_headers", ({ headers }, context) => {
		if (context.model?.provider === "github-copilot") headers["X-Initiator"] = "agent";
	});

	pi.on("message_end", async ({ message }) => {
		if (message.role === "user" && !prompted) {
			prompted = true;
			return { message: { ...message, content: [{ type: "text", text: (await packet).prompt }] } };
		}
		const text = JSON.stringify(message);
		const clean = redact(text);
		return clean === text ? undefined : { message: JSON.parse(clean) as typeof message };
	});
}

function receivePacket(): Promise<Packet> {
	return new Promise((resolve) => {
		const socket = new Socket({ fd: 3, readable: true, writable: true });
		const overdue = setTimeout(() => process.exit(NO_PACKET_EXIT_CODE), PACKET_TIMEOUT_MS);
		const lines = createLineSplitter((line) => {
			clearTimeout(overdue);
			resolve(parsePacket(line));
			socket.unref(); // from here on it must not keep pi alive
		}, Number.POSITIVE_INFINITY);
		socket.on("data", (chunk) => lines.write(chunk));
		socket.on("error", () => {});
		socket.on("close", endRun);
	});
}

function parsePacket(line: Buffer): Packet {
	try {
		const packet = JSON.parse(line.toString("utf8")) as Packet;
		if (typeof packet.prompt === "string") return packet;
	} catch {
		// not a packet
	}
	return process.exit(NO_PACKET_EXIT_CODE);
}

/** The supervisor is gone: a helper clears away what this process cannot, and pi's own SIGTERM handler ends its bash. */
function endRun(): void {
	const { [RUN_MARKER]: runId, ...env } = process.env;
	if (runId !== undefined) {
		const args = [...NODE_FLAGS, scriptPath("supervisor"), "clean", runId, String(process.pid)];
		spawn(process.execPath, args, { detached: true, stdio: "ignore", env })
			.on("error", () => {})
			.unref();
	}
	process.kill(process.pid, "SIGTERM");
}

/**
 * The only way that beats a key stored for the provider; `runtime` is private in pi's types. Where it is not to be had the
 * child ends: it must not go on with somebody else's key.
 */
async function useKey(context: ExtensionContext, provider: string, key: string): Promise<void> {
	const registry = context.modelRegistry as unknown as {
		runtime: { setRuntimeApiKey(provider: string, key: string): Promise<void> | void };
	};
	try {
		await registry.runtime.setRuntimeApiKey(provider, key);
	} catch {
		process.stderr.write(`The definition's apiKey could not be set for ${provider} in this version of pi\n`);
		process.exit(NO_KEY_EXIT_CODE);
	}
}
