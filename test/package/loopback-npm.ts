import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";

/** A registry of npm, and a host of git repositories, on this machine alone. */
export interface LoopbackNpm {
	readonly url: string;
	/** The packages that were asked for. */
	readonly asked: ReadonlySet<string>;
	close(): Promise<void>;
}

interface Published {
	readonly version: string;
	readonly manifest: object;
	readonly tarball: Buffer;
}

/** Serves packages as they are installed in `modules`, and the files below `repositories` for git to clone from. */
export async function startLoopbackNpm(
	names: readonly string[],
	modules: string,
	repositories: string,
): Promise<LoopbackNpm> {
	const packages = new Map(names.map((name) => [name, publish(join(modules, name))]));
	const asked = new Set<string>();
	const server = createServer((request, response) => {
		const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://loopback").pathname));
		const [, first = "", ...rest] = path.split("/");
		const answer = (status: number, body: string | Buffer) => response.writeHead(status).end(body);
		if (first === "git") return answer(...fileBelow(repositories, rest.join("/")));
		const found = packages.get(first);
		asked.add(first);
		if (found === undefined) return answer(404, "{}");
		if (rest.length > 0) return answer(200, found.tarball);
		const dist = {
			tarball: `http://${request.headers.host}/${first}/package.tgz`,
			integrity: `sha512-${createHash("sha512").update(found.tarball).digest("base64")}`,
		};
		const { version, manifest } = found;
		const document = { name: first, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } };
		return answer(200, JSON.stringify(document));
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		asked,
		async close() {
			server.closeAllConnections();
			const closed = once(server, "close");
			server.close();
			await closed;
		},
	};
}

function publish(directory: string): Published {
	const temporary = mkdtempSync(join(tmpdir(), "pi-loopback-npm-"));
	try {
		const args = ["pack", directory, "--pack-destination", temporary, "--ignore-scripts", "--silent"];
		const file = execFileSync("npm", args, { encoding: "utf8" }).trim();
		const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as { version: string };
		return { version: manifest.version, manifest, tarball: readFileSync(join(temporary, file)) };
	} finally {
		rmSync(temporary, { recursive: true, force: true });
	}
}

function fileBelow(directory: string, path: string): [status: number, body: string | Buffer] {
	try {
		return [200, readFileSync(join(directory, path))];
	} catch {
		return [404, ""];
	}
}
