import { readdirSync, realpathSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { withSimpleHttpParser } from "./http-parser.ts";

/** Dialects whose clients ask by `fetch` where they are told to, and nowhere else. */
const REHEARSED: readonly string[] = ["openai-completions", "openai-responses", "anthropic-messages"];
/** An address that is an answer itself. */
const NOWHERE = "data:text/event-stream,";
const ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/** What pi's client for one dialect offers. */
interface Client {
	streamSimple(model: object, context: object, options: object): AsyncIterable<unknown>;
}

/**
 * Gets ready for a first request in this dialect of a provider: loads pi's client for it, which is a file of its own, and
 * rehearses both halves of a request, the client's and that of the connection, so that they are fast when it matters.
 * Nothing leaves this process. Best effort; what is not found or fails here, pi does when it needs it.
 */
export async function warmUp(dialect: string): Promise<void> {
	try {
		const client = await loadClient(dialect);
		if (!client || !REHEARSED.includes(dialect)) return;
		await withSimpleHttpParser(rehearseConnection);
		await rehearseClient(client, dialect);
	} catch {
		// where it matters, pi will say so
	}
}

async function loadClient(dialect: string): Promise<Client | undefined> {
	const chunks = join(dirname(realpathSync(process.argv[1] ?? "")), "chunks");
	const name = readdirSync(chunks).find((each) => /^(.+)-[0-9A-Z]+\.js$/.exec(each)?.[1] === dialect);
	return name === undefined ? undefined : ((await import(pathToFileURL(join(chunks, name)).href)) as Client);
}

/** With this process itself; a proxy would get to see it. */
async function rehearseConnection(): Promise<void> {
	if (["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"].some((name) => process.env[name])) return;
	const server = createServer((socket) => {
		socket.on("error", () => {});
		socket.once("data", () => socket.end(ANSWER));
	});
	await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
	try {
		const { port } = server.address() as AddressInfo;
		await (await fetch(`http://127.0.0.1:${port}`, { method: "POST", body: "{}" })).arrayBuffer();
	} finally {
		server.close();
	}
}

async function rehearseClient(client: Client, api: string): Promise<void> {
	const model = {
		...{ api, id: "none", name: "none", provider: "none", baseUrl: NOWHERE, reasoning: false, input: ["text"] },
		...{ contextWindow: 1_000, maxTokens: 1_000, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } },
	};
	const messages = [{ role: "user", content: [{ type: "text", text: "none" }], timestamp: 0 }];
	const context = { systemPrompt: "none", messages, tools: [] };
	for await (const event of client.streamSimple(model, context, { apiKey: "none", maxRetries: 0 })) void event;
}
