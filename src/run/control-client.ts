import { connect, type Socket } from "node:net";
import { presenceAfter } from "../child/presence.ts";
import type { FromSupervisor, ToSupervisor } from "../child/protocol.ts";
import { createLineSplitter } from "../domain/lines.ts";
import { err, messageOf, ok, type Result } from "../domain/result.ts";

/** A parent's end of a run's control socket. That it could be had proves that the run's supervisor is alive. */
export interface ControlClient {
	isOpen(): boolean;
	send(message: ToSupervisor): void;
	/** Resolves when there is more to read or the run has ended, or to undefined when the supervisor is gone. */
	next(): Promise<Progress | undefined>;
	/** Every other message, in its order, and undefined when the supervisor is gone. Returns how to leave. */
	listen(listener: (answer: Answer | undefined) => void): () => void;
	close(): void;
	/** The same, once what was sent has left. */
	closeWhenSent(): void;
	/** From here on the connection does not keep this process alive. */
	unref(): void;
}

export type Progress = Extract<FromSupervisor, { type: "grown" | "ended" }>;
export type Answer = Exclude<FromSupervisor, Progress>;

/** Why a supervisor could not be reached: there is none, or that could not be told. */
export interface Unreachable {
	readonly presence: "absent" | "unknown";
	readonly message: string;
}

export async function connectControl(path: string): Promise<Result<ControlClient, Unreachable>> {
	const socket = connect(path);
	try {
		await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
	} catch (error) {
		return err({ presence: presenceAfter(error as NodeJS.ErrnoException), message: messageOf(error) });
	}
	return ok(createClient(socket));
}

function createClient(socket: Socket): ControlClient {
	let grown = false;
	let ended: Progress | undefined;
	let open = true;
	let wake = () => {};
	const listeners = new Set<(answer: Answer | undefined) => void>();
	const tell = (answer: Answer | undefined) => {
		for (const listener of [...listeners]) listener(answer);
	};
	const lines = createLineSplitter((line) => {
		const message = parse(line);
		if (message?.type === "ended") ended = message;
		else if (message && message.type !== "grown") tell(message);
		else grown = true; // ten notices say no more than one
	}, Number.POSITIVE_INFINITY);
	socket.on("data", (chunk) => {
		lines.write(chunk);
		wake();
	});
	socket.on("error", () => {});
	for (const end of ["end", "close"] as const) {
		socket.on(end, () => {
			if (open) tell(undefined);
			open = false;
			wake();
		});
	}
	return {
		isOpen: () => open,
		send(message) {
			if (open) socket.write(`${JSON.stringify(message)}\n`);
		},
		async next() {
			while (open && !grown && !ended) {
				await new Promise<void>((resolve) => {
					wake = resolve;
				});
			}
			if (ended) return ended;
			if (!grown) return undefined;
			grown = false;
			return { type: "grown" };
		},
		listen(listener) {
			listeners.add(listener);
			return () => void listeners.delete(listener);
		},
		close: () => void socket.destroy(),
		closeWhenSent: () => socket.destroySoon(),
		unref: () => void socket.unref(),
	};
}

function parse(line: Buffer): FromSupervisor | undefined {
	try {
		return JSON.parse(line.toString("utf8")) as FromSupervisor;
	} catch {
		return undefined;
	}
}
