#!/usr/bin/env node
// Stands in for `pi --mode json -p …` and does what its prompt says; the steps are described in fake-steps.ts.
import { fstatSync, readFileSync, writeSync } from "node:fs";
import { Socket } from "node:net";

const EXIT_NO_PACKET = 70;
const EXIT_BAD_STEP = 64;
const NO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const NO_USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: NO_COST };

const run = {
	packet: {},
	messages: [],
	model: optionValue("--model") ?? "mock-1",
	provider: optionValue("--provider") ?? "mock",
	deaf: false,
	turnOpen: false,
	messageOpen: false,
	settled: false,
	count: 0,
	steers: [],
	onSteer: () => {},
	person: false,
	replies: new Map(),
	onTold: () => {},
};

function optionValue(flag) {
	const position = process.argv.indexOf(flag);
	return position < 0 ? undefined : process.argv[position + 1];
}

// Synchronous on purpose: what was written is on its way before a signal or an exit.
function writeAll(fd, bytes) {
	for (let start = 0; start < bytes.length; ) start += writeSync(fd, bytes, start);
}

const emit = (event) => writeAll(1, Buffer.from(`${JSON.stringify(event)}\n`));

async function writeInPieces(bytes, size) {
	for (let start = 0; start < bytes.length; start += size) {
		writeAll(1, bytes.subarray(start, start + size));
		await new Promise((resolve) => setImmediate(resolve));
	}
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const forever = () => new Promise(() => setInterval(() => {}, 1 << 30));

function usageOf(given = {}) {
	const usage = { input: 100, output: 20, cacheRead: 0, cacheWrite: 0, reasoning: 0, ...given };
	const { input, output, cacheRead, cacheWrite } = usage;
	const cost = {
		input: input * 1e-6,
		output: output * 2e-6,
		cacheRead: cacheRead * 5e-7,
		cacheWrite: 0,
		...given.cost,
	};
	const total = given.cost?.total ?? cost.input + cost.output + cost.cacheRead + cost.cacheWrite;
	const totalTokens = given.totalTokens ?? input + output + cacheRead + cacheWrite;
	return { ...usage, totalTokens, cost: { ...cost, total } };
}

function assistantMessage(content, step, stopReason) {
	const failed = stopReason === "error" || stopReason === "aborted";
	const usage = failed && !step.usage ? NO_USAGE : usageOf(step.usage);
	const message = { role: "assistant", content, ...identity(step), usage, stopReason, timestamp: Date.now() };
	if (failed) return { ...message, errorMessage: step.errorMessage ?? "scripted failure" };
	run.count++;
	const rawStopReason = stopReason === "toolUse" ? "tool_calls" : stopReason;
	return { ...message, responseId: `fake-${run.count}`, rawStopReason };
}

function identity(step) {
	const provider = step.provider ?? run.provider;
	return { api: "openai-completions", provider, model: step.model ?? run.model };
}

function openTurn() {
	if (run.turnOpen) return;
	emit({ type: "turn_start" });
	run.turnOpen = true;
}

function openMessage(step) {
	openTurn();
	if (run.messageOpen) return;
	const message = { role: "assistant", content: [], ...identity(step), usage: NO_USAGE };
	emit({ type: "message_start", message: { ...message, stopReason: "pending", timestamp: Date.now() } });
	run.messageOpen = true;
}

const update = (event) => emit({ type: "message_update", usage: NO_USAGE, assistantMessageEvent: event });

function wholeMessage(message) {
	emit({ type: "message_start", message });
	emit({ type: "message_end", message });
	run.messages.push(message);
}

function closeTurn(message, toolResults = []) {
	emit({ type: "turn_end", message, toolResults });
	run.turnOpen = false;
}

async function say(step) {
	const stopReason = step.stopReason ?? "stop";
	const text = step.say;
	const content = step.content ?? (text === "" ? [] : [{ type: "text", text }]);
	const wasOpen = run.messageOpen;
	openMessage(step);
	if (!wasOpen && text) {
		update({ type: "text_start", contentIndex: 0 });
		update({ type: "text_delta", contentIndex: 0, delta: text });
	}
	if (text) update({ type: "text_end", contentIndex: 0, content: text });
	const message = assistantMessage(content, step, stopReason);
	const line = Buffer.from(`${JSON.stringify({ type: "message_end", message })}\n`);
	await writeInPieces(line, step.splitEvery ?? line.length);
	run.messageOpen = false;
	run.messages.push(message);
	closeTurn(message);
}

function callTool(step) {
	const toolCallId = step.id ?? `call_${run.count}`;
	const args = step.args ?? {};
	const call = { type: "toolCall", id: toolCallId, name: step.tool, arguments: args };
	const content = step.text ? [{ type: "text", text: step.text }, call] : [call];
	openMessage(step);
	update({ type: "toolcall_start", contentIndex: content.length - 1, id: toolCallId, toolName: step.tool });
	update({ type: "toolcall_end", contentIndex: content.length - 1, toolCall: call });
	const message = assistantMessage(content, step, "toolUse");
	emit({ type: "message_end", message });
	run.messageOpen = false;
	run.messages.push(message);
	emit({ type: "tool_execution_start", toolCallId, toolName: step.tool, args });
	if (!step.unfinished) finishTool(step, toolCallId, message);
}

function finishTool(step, toolCallId, message) {
	const isError = step.isError ?? false;
	const details = step.details ?? (isError ? {} : undefined);
	const usage = step.resultUsage && usageOf(step.resultUsage);
	const result = { content: [{ type: "text", text: step.result ?? "" }], details, usage };
	emit({ type: "tool_execution_end", toolCallId, toolName: step.tool, result, isError });
	const answer = { role: "toolResult", toolCallId, toolName: step.tool, ...result, isError, timestamp: Date.now() };
	wholeMessage(answer);
	closeTurn(message, [answer]);
}

async function spawnGrandchild(step) {
	const { spawn } = await import("node:child_process");
	const [command, ...args] = step.spawn;
	const stdout = step.holdStdout ? "inherit" : "ignore";
	const env = { ...process.env, ...step.environment };
	const grandchild = spawn(command, args, {
		detached: step.detached ?? false,
		stdio: ["ignore", stdout, "ignore"],
		env,
	});
	const failure = await new Promise((resolve) => {
		grandchild.once("spawn", () => resolve(undefined));
		grandchild.once("error", resolve);
	});
	grandchild.unref();
	const result = failure ? String(failure) : String(grandchild.pid);
	callTool({ tool: "spawn", args: { command: step.spawn }, result, isError: failure !== undefined });
}

const endAgent = (willRetry) => emit({ type: "agent_end", messages: run.messages, willRetry });

function settle() {
	endAgent(false);
	emit({ type: "agent_settled" });
	run.settled = true;
}

function retry(step) {
	endAgent(true);
	const errorMessage = run.messages.at(-1)?.errorMessage ?? "scripted failure";
	emit({ type: "auto_retry_start", attempt: 1, maxAttempts: 3, delayMs: step.retry, errorMessage });
	const edit = { type: "context_edit", id: "00000002", parentId: "00000001", timestamp: new Date().toISOString() };
	emit({ type: "entry_appended", entry: { ...edit, targetId: "00000001", replacement: null } });
	emit({ type: "agent_start" });
}

function user(text) {
	openTurn();
	wholeMessage({ role: "user", content: [{ type: "text", text }], timestamp: Date.now() });
}

async function hear(count) {
	const alive = setInterval(() => {}, 1 << 30);
	while (run.steers.length < count) await new Promise((resolve) => Object.assign(run, { onSteer: resolve }));
	clearInterval(alive);
}

const tellSupervisor = (message) => writeAll(3, Buffer.from(`${JSON.stringify(message)}\n`));

async function waitUntilTold(isTold) {
	const alive = setInterval(() => {}, 1 << 30);
	while (!isTold()) await new Promise((resolve) => Object.assign(run, { onTold: resolve }));
	clearInterval(alive);
}

// Asks all of them at once, and says the answers as JSON.
async function ask(questions) {
	for (const question of questions) tellSupervisor({ ask: question });
	await waitUntilTold(() => questions.every(({ id }) => run.replies.has(id)));
	await say({ say: JSON.stringify(questions.map(({ id }) => run.replies.get(id))) });
}

// Waits for so many steers and hands them over as pi does: all in one custom message.
async function receive(count) {
	await hear(count);
	const steers = run.steers.splice(0);
	const details = { ids: steers.map(({ id }) => id) };
	const content = steers.map(({ text }) => ({ type: "text", text }));
	openTurn();
	wholeMessage({
		role: "custom",
		customType: "pi-subagents.steer",
		content,
		display: true,
		details,
		timestamp: Date.now(),
	});
	return steers;
}

// One entry per step; the first key of a step that is named here decides.
const ACTIONS = {
	say,
	tool: callTool,
	delta: (step) => {
		const wasOpen = run.messageOpen;
		openMessage(step);
		if (!wasOpen) update({ type: "text_start", contentIndex: 0 });
		update({ type: "text_delta", contentIndex: 0, delta: step.delta });
	},
	user: (step) => user(step.user),
	receive: async (step) => say({ say: JSON.stringify(await receive(step.receive)) }),
	hear: (step) => hear(step.hear),
	ask: (step) => ask(step.ask),
	tellSupervisor: (step) => tellSupervisor(step.tellSupervisor),
	person: (step) => waitUntilTold(() => run.person === step.person),
	retry,
	raw: (step) => writeAll(1, Buffer.from(`${step.raw}\n`)),
	bytes: (step) => writeInPieces(Buffer.from(step.bytes), step.splitEvery ?? 1),
	base64: (step) => writeInPieces(Buffer.from(step.base64, "base64"), step.splitEvery ?? 1 << 20),
	stderr: (step) => writeAll(2, Buffer.from(step.stderr)),
	sleep: (step) => sleep(step.sleep),
	hang: forever,
	pause: () => process.kill(process.pid, "SIGSTOP"),
	deaf: (step) => Object.assign(run, { deaf: step.deaf }),
	exit: (step) => process.exit(step.exit),
	signal: (step) => {
		process.kill(process.pid, step.signal);
		return forever();
	},
	settle,
	linger: (step) => {
		if (!run.settled) settle();
		return sleep(step.linger);
	},
	spawn: spawnGrandchild,
	repeat: async (step) => {
		for (let round = 0; round < step.repeat; round++) await perform(step.steps);
	},
	env: (step) => {
		const values = step.env.map((name) => [name, process.env[name] ?? null]);
		return say({ say: JSON.stringify(Object.fromEntries(values)) });
	},
	argv: () => say({ say: JSON.stringify(process.argv.slice(2)) }),
	cwd: () => say({ say: process.cwd() }),
	packet: () => say({ say: JSON.stringify(run.packet) }),
	stdin: () => say({ say: readFileSync(0, "utf8") }),
};

async function perform(steps) {
	for (const step of steps) {
		const name = Object.keys(step).find((key) => Object.hasOwn(ACTIONS, key));
		if (name === undefined) {
			writeAll(2, Buffer.from(`fake pi: unknown step ${JSON.stringify(step)}\n`));
			process.exit(EXIT_BAD_STEP);
		}
		await ACTIONS[name](step);
	}
}

function stepsOf(prompt) {
	for (const candidate of [prompt, ...prompt.split("\n").filter((line) => line.startsWith("[{"))]) {
		try {
			const value = JSON.parse(candidate);
			if (Array.isArray(value)) return value;
		} catch {}
	}
	// The prompt of a correction is not the test's.
	if (process.env.FAKE_PI_CORRECTED && prompt.startsWith("You have not finished"))
		return JSON.parse(process.env.FAKE_PI_CORRECTED);
	return [{ say: `ok: ${prompt}` }];
}

async function start(packet) {
	run.packet = packet;
	const prompt = packet.prompt ?? "";
	const id = `00000000-0000-7000-8000-${String(process.pid).padStart(12, "0")}`;
	emit({ type: "session", version: 3, id, timestamp: new Date().toISOString(), cwd: process.cwd() });
	emit({ type: "agent_start" });
	openTurn();
	const sections = { preamble: "A fake system prompt.", tools: "", rules: "", docs: "", cwd: process.cwd() };
	wholeMessage({ role: "system", content: "", sections, timestamp: Date.now(), toolsAdded: [] });
	user(prompt);
	await perform(stepsOf(prompt));
	if (!run.settled) settle();
	process.exit(0);
}

// Without a third pipe Node itself may use descriptor 3 for something else, hence the look at its kind.
function packetSocket() {
	try {
		const kind = fstatSync(3);
		if (kind.isSocket() || kind.isFIFO()) return new Socket({ fd: 3, readable: true, writable: false });
	} catch {}
	writeAll(2, Buffer.from("fake pi: no packet on fd 3\n"));
	return process.exit(EXIT_NO_PACKET);
}

function hearMessage(message) {
	if (message.steer) run.steers.push(message.steer);
	if (message.steer) run.onSteer();
	if (message.answer) run.replies.set(message.answer.id, message.answer.reply);
	if ("person" in message) run.person = message.person;
	run.onTold();
}

function listen(socket) {
	let received = "";
	let started = false;
	socket.setEncoding("utf8");
	socket.on("data", (chunk) => {
		received += chunk;
		for (let end = received.indexOf("\n"); end >= 0; end = received.indexOf("\n")) {
			const message = JSON.parse(received.slice(0, end));
			received = received.slice(end + 1);
			if (message.warmUp) continue;
			hearMessage(message);
			if (started) continue;
			started = true;
			socket.unref();
			void start(message);
		}
	});
	socket.on("error", () => process.kill(process.pid, "SIGTERM"));
	socket.on("end", () => process.kill(process.pid, "SIGTERM"));
}

process.on("SIGTERM", () => run.deaf || process.exit(143));
process.on("SIGHUP", () => run.deaf || process.exit(129));
const socket = packetSocket();
listen(socket);
