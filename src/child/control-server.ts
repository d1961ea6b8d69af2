import { createServer, type Socket } from "node:net";
import { dirname } from "node:path";
import { createLineSplitter } from "../domain/lines.ts";
import {
	ensureSocketDirectory,
	type FromSupervisor,
	KNOWN_MESSAGES,
	OWNER_MESSAGES,
	type ToSupervisor,
} from "./protocol.ts";

export interface ControlServer {
	/** To everybody who is connected. */
	send(message: FromSupervisor): void;
	/** Takes the socket away, then says its last message. Resolves when all that was sent has left, or after a moment. */
	close(last?: FromSupervisor): Promise<void>;
}

/** One who is connected. */
export interface Client {
	send(message: FromSupervisor): void;
	/** Called when the connection has ended, also where it has already. */
	onGone(listener: () => void): void;
}

const MAX_FLUSH_MS = 1_000;

/**
 * The run's control socket. Whoever sends `hold` or `start` owns the run; `onOwnerGone` tells when that connection ends.
 * A client that sends nonsense is disconnected; a message of a later version is answered with `unknown`.
 */
export async function listen(
	path: string,
	onMessage: (message: ToSupervisor, client: Client) => void,
	onOwnerGone: () => void,
): Promise<ControlServer> {
	ensureSocketDirectory(dirname(path));
	const clients = new Set<Socket>();
	const server = createServer((client) => {
		clients.add(client);
		let owns = false;
		const connection: Client = {
			send: (answer) => void client.write(lineOf(answer)),
			onGone: (listener) => void (clients.has(client) ? client.once("close", listener) : listener()),
		};
		const lines = createLineSplitter((line) => {
			const message = parse(line);
			if (!message) return void client.destroy();
			if (!isKnown(message)) return connection.send({ type: "unknown", request: message.type });
			owns ||= OWNER_MESSAGES.includes(message.type);
			onMessage(message, connection);
		}, Number.POSITIVE_INFINITY);
		client.on("data", (chunk) => lines.write(chunk));
		client.on("error", () => {});
		client.on("close", () => {
			clients.delete(client);
			if (owns) onOwnerGone();
		});
	});
	await new Promise<void>((resolve, reject) => {
		server.once("error", reject);
		server.listen(path, resolve);
	});
	const send = (message: FromSupervisor) => {
		const line = lineOf(message);
		for (const client of clients) client.write(line);
	};
	return {
		send,
		async close(last) {
			server.close();
			if (last) send(last);
			const flushed = [...clients].map((client) => new Promise<void>((resolve) => client.end(resolve)));
			await Promise.race([Promise.all(flushed), new Promise((resolve) => setTimeout(resolve, MAX_FLUSH_MS))]);
		},
	};
}

const lineOf = (message: FromSupervisor) => `${JSON.stringify(message)}\n`;

const isKnown = (message: { readonly type: string }): message is ToSupervisor =>
	KNOWN_MESSAGES.some((type) => type === message.type);

function parse(line: Buffer): { readonly type: string } | undefined {
	try {
		const message = JSON.parse(line.toString("utf8")) as { type?: unknown } | null;
		return typeof message?.type === "string" ? { ...message, type: message.type } : undefined;
	} catch {
		return undefined;
	}
}
