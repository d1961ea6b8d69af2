import { createServer, type Socket } from "node:net";
import { dirname } from "node:path";
import { createLineSplitter } from "../domain/lines.ts";
import { ensureSocketDirectory, type FromSupervisor, type ToSupervisor } from "./protocol.ts";

export interface ControlServer {
	/** To everybody who is connected. */
	send(message: FromSupervisor): void;
	/** Resolves when all that was sent has left, or after a moment. */
	close(): Promise<void>;
}

const MAX_FLUSH_MS = 1_000;

/**
 * The run's control socket. A client that has sent a message owns the run; `onOwnerGone` tells when its connection ends.
 * A client that sends nonsense is disconnected.
 */
export async function listen(
	path: string,
	onMessage: (message: ToSupervisor) => void,
	onOwnerGone: () => void,
): Promise<ControlServer> {
	ensureSocketDirectory(dirname(path));
	const clients = new Set<Socket>();
	const server = createServer((client) => {
		clients.add(client);
		let owns = false;
		const lines = createLineSplitter((line) => {
			const message = parse(line);
			if (!message) return void client.destroy();
			owns = true;
			onMessage(message);
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
	return {
		send(message) {
			const line = `${JSON.stringify(message)}\n`;
			for (const client of clients) client.write(line);
		},
		async close() {
			server.close();
			const flushed = [...clients].map((client) => new Promise<void>((resolve) => client.end(resolve)));
			await Promise.race([Promise.all(flushed), new Promise((resolve) => setTimeout(resolve, MAX_FLUSH_MS))]);
		},
	};
}

function parse(line: Buffer): ToSupervisor | undefined {
	try {
		const message = JSON.parse(line.toString("utf8")) as ToSupervisor;
		return ["hold", "start", "stop"].includes(message.type) ? message : undefined;
	} catch {
		return undefined;
	}
}
