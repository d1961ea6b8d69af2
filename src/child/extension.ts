import { spawn } from "node:child_process";
import { readSync } from "node:fs";
import { Socket } from "node:net";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { createLineSplitter } from "../domain/lines.ts";
import { createRedactor } from "../domain/redact.ts";
import { createAsking, RUNNER } from "./asking.ts";
import { fallBack } from "./fallback.ts";
import { requireFinalization } from "./finalization.ts";
import { keepHttpParserSimple } from "./http-parser.ts";
import {
	type ChildPacket,
	type FromChild,
	PACKET_TIMEOUT_MS,
	RUN_MARKER,
	type ToChild,
	type WarmUp,
} from "./protocol.ts";
import { exitQuickly } from "./quick-exit.ts";
import { keepCallTimes } from "./receipt/call-times.ts";
import { NODE_FLAGS, scriptPath } from "./scripts.ts";
import { createSlotRequests, type SlotRequests } from "./slot-request.ts";
import { createSpendingRequests } from "./spending-request.ts";
import { createTalk } from "./talk.ts";
import { enforceTools } from "./tool-limits.ts";
import { warmUp } from "./warm-up.ts";
import { createWrapUp } from "./wrap-up.ts";
import { guardWrites } from "./write-guard.ts";

const LIFELINE_FD = 3;
/** pi swallows what a handler throws and would go on without its task: a child in doubt ends with this code. */
const NO_PACKET_EXIT_CODE = 70;
const NO_KEY_EXIT_CODE = 72;

/** Loaded by pi in every child, with `-e`: takes the packet from fd 3, and ends with whoever holds the other end. */
export default function child(pi: ExtensionAPI): void {
	const lifeline = new Socket({ fd: LIFELINE_FD, readable: true, writable: true });
	const talk = createTalk(pi);
	let slots: SlotRequests | undefined;
	const spending = createSpendingRequests((spent) => tell({ spent }));
	let locks: ReturnType<typeof guardWrites> | undefined;
	const looked = Promise.withResolvers<void>();
	const tell = (message: FromChild) => void lifeline.write(`${JSON.stringify(message)}\n`);
	const asking = createAsking((globalThis as { [RUNNER]?: unknown })[RUNNER], tell);
	const receive = (message: ToChild) => {
		if ("steer" in message) talk.receive(message.steer);
		else if ("granted" in message) slots?.granted(message.granted);
		else if ("locked" in message) locks?.answered(message.locked);
		else if ("looked" in message) looked.resolve();
		else if ("answer" in message) asking.answered(message.answer);
		else if ("person" in message) asking.attended(message.person);
		else spending.answered(message.spending);
	};
	const packet = receivePacket(lifeline, receive);
	process.once("exit", onExit);
	process.once("beforeExit", leave);
	keepHttpParserSimple(pi);
	let redact = createRedactor([]);
	const keys: string[] = [];
	let prompted = false;

	/** Neither the child nor its supervisor ever writes this key. */
	const keepOut = (key: string | undefined) => {
		if (key === undefined) return;
		keys.push(key);
		redact = createRedactor(keys);
		tell({ key });
	};

	pi.on("session_start", async (_event, context) => {
		const overdue = setTimeout(() => process.exit(NO_PACKET_EXIT_CODE), PACKET_TIMEOUT_MS);
		const { apiKey, contract, allowance, fallback, maxInFlight, sharesBudget, writeGuard, callTimes } = await packet; // it was sent before pi's stdin ended, and pi waits for that
		clearTimeout(overdue);
		const wrapUp = createWrapUp(
			{ allowance, contract },
			(wrapUp) => tell({ wrapUp }),
			sharesBudget ? spending.spend : async () => undefined,
		);
		if (contract.kind === "finalize") requireFinalization(pi, contract, wrapUp, talk);
		wrapUp.listen(pi);
		locks = writeGuard && guardWrites(pi, writeGuard, tell); // after all that may refuse a call for other reasons
		if (callTimes?.looked) looked.resolve();
		if (callTimes) keepCallTimes(pi, callTimes.file, looked.promise);
		slots = createSlotRequests(maxInFlight, (slots) => tell({ slots }));
		slots.listen(pi);
		if (apiKey) await useKey(context, apiKey.provider, apiKey.key);
		keepOut(apiKey?.key ?? (await keyInUse(context)));
		const onModel = async (current: ExtensionContext) => keepOut(await keyInUse(current));
		fallBack(pi, fallback, (failed) => tell({ failed }), onModel);
	});

	enforceTools(
		pi,
		packet.then(({ tools }) => tools),
	);

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

/** What follows the packet, maybe in the same chunk, is told in its order. */
function receivePacket(socket: Socket, onTold: (message: ToChild) => void): Promise<ChildPacket> {
	return new Promise((resolve) => {
		let received = false;
		const lines = createLineSplitter((line) => {
			const message = parse(line);
			if (!received && !isBeginning(message)) process.exit(NO_PACKET_EXIT_CODE);
			if (isBeginning(message)) {
				if ("warmUp" in message) return void warmUp(message.warmUp);
				received = true;
				onTold({ person: message.person === true });
				resolve(message);
				return void socket.unref(); // from here on it must not keep pi alive
			}
			if (isTold(message)) onTold(message);
		}, Number.POSITIVE_INFINITY);
		socket.on("data", (chunk) => lines.write(chunk));
		socket.on("error", () => {});
		socket.on("close", endRun);
	});
}

function parse(line: Buffer): object {
	try {
		return (JSON.parse(line.toString("utf8")) as object | null) ?? {};
	} catch {
		return {};
	}
}

const isBeginning = (message: object): message is ChildPacket | WarmUp =>
	"warmUp" in message || ("prompt" in message && typeof message.prompt === "string");

/** A supervisor of a later version may say more. */
const isTold = (message: object): message is ToChild =>
	["steer", "granted", "spending", "locked", "looked", "answer", "person"].some((key) => key in message);

/** The supervisor is gone: pi's own SIGTERM handler ends its bash, and a helper what is left then. */
function endRun(): void {
	clearAway();
	process.kill(process.pid, "SIGTERM");
}

/** pi has nothing left to do. */
function leave(code: number): void {
	if (process.listenerCount("beforeExit") === 0) exitQuickly(LIFELINE_FD, code); // else somebody may have more to do
}

let cleared = false;

/** Starts a helper that ends all of this run. It outlives this process, and does not count as part of the run. */
function clearAway(): void {
	const { [RUN_MARKER]: runId, ...env } = process.env;
	if (runId === undefined || cleared) return;
	cleared = true;
	const args = [...NODE_FLAGS, scriptPath("supervisor"), "clean", runId, String(process.pid)];
	spawn(process.execPath, args, { detached: true, stdio: "ignore", env })
		.on("error", () => {})
		.unref();
}

/** pi ends with this code at the first write to a supervisor that is gone, mostly before it is told that it is. */
const EPIPE_EXIT_CODE = 1;
/** All that a supervisor held is closed when it dies, but not all at the same moment. */
const CLOSING_MS = 50;

function onExit(code: number): void {
	const deadline = performance.now() + (code === EPIPE_EXIT_CODE ? CLOSING_MS : 0);
	while (!hasEnded(LIFELINE_FD)) {
		if (performance.now() >= deadline) return;
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
	}
	clearAway();
}

function hasEnded(fd: number): boolean {
	try {
		return readSync(fd, Buffer.alloc(1)) === 0;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code !== "EAGAIN";
	}
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

/** Shorter ones are words that stand for none, as local models want them; blanking those would spoil ordinary text. */
const MIN_KEY_CHARS = 12;

/** The key that pi has for the child's model: a provider may quote it when it refuses it. */
async function keyInUse({ model, modelRegistry }: ExtensionContext): Promise<string | undefined> {
	try {
		const key = model && (await modelRegistry.getApiKeyForProvider(model.provider));
		return key !== undefined && key.length >= MIN_KEY_CHARS ? key : undefined;
	} catch {
		return undefined; // pi says so itself when it needs the key
	}
}
