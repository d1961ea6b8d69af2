import { createHome, type HomeOptions } from "./home.ts";
import { startModelServer, text } from "./model-server.ts";
import { type PiOptions, runPi } from "./pi.ts";

/** Where a request is measured: what pi loads, and what its settings say. */
export interface RequestOptions extends HomeOptions {
	/** Given with `-e`. */
	extension?: string;
	pi?: Omit<PiOptions, "prompt" | "extension">;
	/** Files to write below the project, or at an absolute path inside the home. */
	files?: (home: { agentDir: string }) => Record<string, string>;
}

/** How many characters pi's first request of a session has, with two models. Homes differ in name, not in length. */
export async function measureRequest({ extension, pi, files, ...options }: RequestOptions = {}): Promise<number> {
	const server = await startModelServer(() => text("ok"));
	const home = createHome(server, options);
	try {
		for (const [path, content] of Object.entries(files?.(home) ?? {})) home.write(path, content);
		const { stderr } = await runPi(home, { ...pi, prompt: "hello", ...(extension !== undefined && { extension }) })
			.done;
		const [request] = server.requests;
		if (!request) throw new Error(`pi asked nothing: ${stderr}`);
		return JSON.stringify(request.body).length;
	} finally {
		await server.close();
		home.dispose();
	}
}
