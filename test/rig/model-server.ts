import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import type { Reply } from "./model-replies.ts";
import { type ModelRequest, parseModelRequest } from "./model-request.ts";
import { answer, answerStatus } from "./model-stream.ts";
import { PATIENCE_MS } from "./until.ts";

export * from "./model-replies.ts";
export type { ModelRequest, SimpleCall, SimpleMessage } from "./model-request.ts";

export type Script = (request: ModelRequest) => Reply | Promise<Reply>;

export interface ModelServer {
	/** Base URL for an OpenAI-compatible client. */
	url: string;
	/** Every request that arrived, in order. */
	requests: ModelRequest[];
	/** What the script threw; the client got status 400 (which pi does not retry). */
	scriptErrors: unknown[];
	/** Replaces the script for the requests to come. */
	use(script: Script): void;
	/** Also looks at the requests that have arrived already. */
	waitForRequest(predicate: (request: ModelRequest) => boolean, timeoutMs?: number): Promise<ModelRequest>;
	close(): Promise<void>;
}

interface Waiter {
	matches(request: ModelRequest): boolean;
	resolve(request: ModelRequest): void;
}

interface Hall {
	script: Script;
	requests: ModelRequest[];
	scriptErrors: unknown[];
	waiters: Set<Waiter>;
}

const unscripted: Script = (request) => {
	throw new Error(`no script for ${JSON.stringify(request.lastUser.slice(0, 80))}`);
};

export async function startModelServer(script: Script = unscripted): Promise<ModelServer> {
	const hall: Hall = { script, requests: [], scriptErrors: [], waiters: new Set() };
	const sockets = new Set<Socket>();
	const server = createServer({ noDelay: true }, (incoming, response) => void receive(hall, incoming, response));
	server.on("connection", (socket) => {
		sockets.add(socket);
		socket.on("error", () => {});
		socket.on("close", () => sockets.delete(socket));
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	return {
		url: `http://127.0.0.1:${portOf(server)}/v1`,
		requests: hall.requests,
		scriptErrors: hall.scriptErrors,
		use: (next) => {
			hall.script = next;
		},
		waitForRequest: (predicate, timeoutMs = PATIENCE_MS) => waitForRequest(hall, predicate, timeoutMs),
		close: async () => {
			const closed = once(server, "close");
			server.close();
			for (const socket of sockets) socket.destroy();
			await closed;
		},
	};
}

async function receive(hall: Hall, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
	const gone = new AbortController();
	const ended = new Promise<"complete" | "cut">((resolve) => {
		response.on("close", () => {
			gone.abort();
			resolve(response.writableFinished ? "complete" : "cut");
		});
	});
	try {
		const body = await readText(incoming);
		const request = parseModelRequest({
			index: hall.requests.length,
			at: performance.now(),
			method: incoming.method ?? "",
			path: incoming.url ?? "",
			headers: incoming.headers,
			text: body,
			ended,
		});
		announce(hall, request);
		if (request.method !== "POST" || !request.path.endsWith("/chat/completions")) {
			return answerStatus(response, 404, { error: { message: `no such path: ${request.path}` } });
		}
		const reply = await runScript(hall, request);
		await answer(reply, { response, model: request.model, index: request.index, gone: gone.signal });
	} catch (error) {
		if (!gone.signal.aborted) hall.scriptErrors.push(error);
		response.destroy();
	}
}

async function runScript(hall: Hall, request: ModelRequest): Promise<Reply> {
	try {
		return await hall.script(request);
	} catch (error) {
		hall.scriptErrors.push(error);
		return { kind: "status", status: 400, body: { error: { message: `the test's script threw: ${error}` } } };
	}
}

function announce(hall: Hall, request: ModelRequest): void {
	hall.requests.push(request);
	for (const waiter of [...hall.waiters]) {
		if (waiter.matches(request)) waiter.resolve(request);
	}
}

function waitForRequest(
	hall: Hall,
	predicate: (request: ModelRequest) => boolean,
	timeoutMs: number,
): Promise<ModelRequest> {
	const seen = hall.requests.find(predicate);
	if (seen) return Promise.resolve(seen);
	return new Promise((resolve, reject) => {
		const waiter: Waiter = {
			matches: predicate,
			resolve: (request) => {
				leave();
				resolve(request);
			},
		};
		const timer = setTimeout(() => {
			leave();
			reject(new Error(`No matching model request within ${timeoutMs} ms. ${describeRequests(hall.requests)}`));
		}, timeoutMs);
		const leave = () => {
			clearTimeout(timer);
			hall.waiters.delete(waiter);
		};
		hall.waiters.add(waiter);
	});
}

function describeRequests(requests: ModelRequest[]): string {
	if (requests.length === 0) return "No request arrived at all.";
	const lines = requests.map((one) => {
		const task = JSON.stringify(one.lastUser.slice(0, 80));
		return `  #${one.index} ${one.model} turn ${one.turn} user ${task} tools ${one.tools.join(",")}`;
	});
	return `Arrived:\n${lines.join("\n")}`;
}

function portOf(server: Server): number {
	const address = server.address();
	if (address === null || typeof address === "string") throw new Error("The model server has no port.");
	return address.port;
}
