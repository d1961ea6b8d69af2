import { type ChildProcess, spawn } from "node:child_process";
import { NODE_FLAGS, scriptPath } from "../child/scripts.ts";
import { err, messageOf, ok, type Result } from "../domain/result.ts";
import type { RunSpec } from "../domain/spec.ts";
import { type ControlClient, connectControl } from "./control-client.ts";

/** A supervisor that this process started. */
export interface Launched {
	readonly control: ControlClient;
	/** Its run is over. The process itself holds nothing any more and exits in a moment: nobody waits for it. */
	done(): Promise<void>;
	/** Resolves when its process is gone, at the latest after the given time. */
	gone(withinMs: number): Promise<void>;
	/** For a supervisor that no longer answers. */
	kill(): void;
	/** From here on this process does not wait for it. */
	unref(): void;
}

/** Starts a supervisor for a run directory that has its meta.json or, parked, what stands in for it. What it launches waits for its packet. */
export type Launcher = (directory: string, spec: RunSpec) => Promise<Result<Launched>>;

const READY_TIMEOUT_MS = 10_000;

/** In a session of its own: what happens to the parent's terminal is nothing to it. */
export const launchProcess: Launcher = async (directory, spec) => {
	let supervisor: ChildProcess;
	try {
		supervisor = spawn(process.execPath, [...NODE_FLAGS, scriptPath("supervisor"), "supervise", directory], {
			detached: true,
			stdio: ["ignore", "pipe", "pipe"],
			windowsHide: true,
		});
	} catch (error) {
		return err(messageOf(error));
	}
	const exited = new Promise<void>((resolve) => {
		supervisor.once("exit", () => resolve());
		supervisor.once("error", () => resolve());
	});
	const ready = await readiness(supervisor);
	const control = ready.ok ? await connectControl(spec.socket) : ready;
	if (!control.ok) {
		supervisor.kill("SIGKILL");
		return err(typeof control.error === "string" ? control.error : control.error.message);
	}
	const unref = () => {
		supervisor.unref();
		control.value.unref();
	};
	return ok({
		control: control.value,
		done: async () => unref(),
		gone: (withinMs) =>
			new Promise((resolve) => {
				const timer = setTimeout(resolve, withinMs);
				void exited.then(() => {
					clearTimeout(timer);
					resolve();
				});
			}),
		kill: () => void supervisor.kill("SIGKILL"),
		unref,
	});
};

/** The supervisor says one line when its socket listens; if it dies before, its last words say why. */
function readiness(supervisor: ChildProcess): Promise<Result<undefined>> {
	const { stdout, stderr } = supervisor;
	return new Promise((resolve) => {
		let complaint = "";
		const settle = (result: Result<undefined>) => {
			clearTimeout(timer);
			stdout?.destroy();
			stderr?.destroy();
			resolve(result);
		};
		const timer = setTimeout(settle, READY_TIMEOUT_MS, err("the supervisor did not get ready"));
		stdout?.once("data", () => settle(ok(undefined)));
		stderr?.on("data", (chunk: Buffer) => {
			complaint = (complaint + chunk.toString("utf8")).slice(-2_000);
		});
		supervisor.once("error", (error) => settle(err(error.message)));
		supervisor.once("close", () => settle(err(complaint.trim() || "the supervisor ended at once")));
	});
}
