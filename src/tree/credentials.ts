import { mkdirSync, readFileSync, realpathSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { layerAt, type TreePlan } from "./plan.ts";

type Credentials = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What an OAuth provider gives instead of the old ones when they are renewed. */
interface Tokens {
	readonly access: string;
	readonly refresh: string;
	readonly expires: number;
}

const LOCK_WAIT_MS = 5_000;
const LOCK_POLL_MS = 20;
/** pi takes a lock of this age for one whose owner has died. */
const LOCK_STALE_MS = 30_000;

/**
 * pi renews the tokens of an OAuth provider and writes them to auth.json, which for this run is in a layer that is thrown away. The old
 * tokens may be worth nothing after that, so the new ones are put into the person's file. Nothing else of the run's file is:
 * pi would run a command that stands there.
 */
export async function keepTokens(tree: TreePlan, provider: string): Promise<void> {
	const layer = layerAt(tree, tree.agentDirectory);
	if (!layer) return;
	const renewed = tokensIn(join(layer.directory, "up", relative(layer.at, tree.agentDirectory), "auth.json"), provider);
	if (!renewed) return;
	const path = join(tree.agentDirectory, "auth.json");
	const release = await lock(path);
	if (!release) return;
	try {
		const current = readCredentials(path);
		const own = current?.[provider];
		const known = tokensOf(own);
		if (!current || !own || !known || known.expires >= renewed.expires) return;
		const { access, refresh, expires } = renewed;
		replace(path, { ...current, [provider]: { ...own, access, refresh, expires } });
	} finally {
		release();
	}
}

function tokensIn(path: string, provider: string): Tokens | undefined {
	return tokensOf(readCredentials(path)?.[provider]);
}

/** A text that starts like this may be run, or stand for a variable, where pi reads it. */
const isToken = (value: unknown): value is string => typeof value === "string" && /^[^\W_][\x21-\x7e]*$/.test(value);

function tokensOf(credential: Readonly<Record<string, unknown>> | undefined): Tokens | undefined {
	if (typeof credential !== "object" || credential === null || credential.type !== "oauth") return undefined;
	const { access, refresh, expires } = credential;
	return isToken(access) && isToken(refresh) && Number.isFinite(expires)
		? { access, refresh, expires: expires as number }
		: undefined;
}

function readCredentials(path: string): Credentials | undefined {
	try {
		return JSON.parse(readFileSync(path, "utf8")) as Credentials;
	} catch {
		return undefined;
	}
}

/** pi's own lock: a directory beside the file. Undefined where it cannot be had in time. */
async function lock(path: string): Promise<(() => void) | undefined> {
	const directory = `${path}.lock`;
	for (const deadline = Date.now() + LOCK_WAIT_MS; Date.now() < deadline; await sleep(LOCK_POLL_MS)) {
		try {
			mkdirSync(directory);
			return () => rmSync(directory, { recursive: true, force: true });
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "EEXIST") return undefined;
			if (isStale(directory)) remove(directory);
		}
	}
	return undefined;
}

const isStale = (directory: string) =>
	Date.now() - (statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > LOCK_STALE_MS;

function remove(directory: string): void {
	try {
		rmdirSync(directory);
	} catch {
		// another process was faster
	}
}

/** Whole or not at all, in the place of the file that a link leads to. */
function replace(path: string, credentials: Credentials): void {
	const real = realpathSync(path);
	const temporary = `${real}.${process.pid}`;
	writeFileSync(temporary, JSON.stringify(credentials, undefined, 2), {
		mode: statSync(real).mode & 0o777,
		flag: "wx",
	});
	renameSync(temporary, real);
}
