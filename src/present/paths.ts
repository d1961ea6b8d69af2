import { isAbsolute, relative, resolve } from "node:path";

/** Where a path is read: relative to which directory, and in whose home. */
export interface Place {
	readonly cwd: string;
	readonly home: string;
}

/** `~` for the home directory, or relative to the working directory, whichever is shorter. */
export function shortenPath(path: string, { cwd, home }: Place): string {
	if (!isAbsolute(path)) return path;
	const inHome = home !== "" && (path === home || path.startsWith(`${home}/`));
	const fromHome = inHome ? `~${path.slice(home.length)}` : path;
	if (cwd === "") return fromHome;
	const fromCwd = `${relative(cwd, path) || "."}${path.length > 1 && path.endsWith("/") ? "/" : ""}`;
	return fromCwd.length < fromHome.length ? fromCwd : fromHome;
}

/** The same for the paths inside of a command line. Only whole path names are touched. */
export function shortenPathsIn(text: string, { cwd, home }: Place): string {
	const inCwd = replaceDirectory(text, cwd, (rest) => rest.slice(1) || ".");
	return replaceDirectory(inCwd, home, (rest) => `~${rest}`);
}

function replaceDirectory(text: string, directory: string, by: (rest: string) => string): string {
	if (directory.length < 2 || !text.includes(directory)) return text;
	const pattern = directory.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
	const found = new RegExp(`(?<=^|[\\s"'=:(])${pattern}(/[^\\s"':;)]*|(?=$|[\\s"':;)]))`, "g");
	return text.replace(found, (_all, rest: string) => by(rest));
}

/** Whether `cd <directory>` stays where one is. */
export function isSameDirectory(directory: string, { cwd, home }: Place): boolean {
	const absolute = directory.replace(/^~(?=\/|$)/, home);
	return cwd !== "" && resolve(cwd, absolute) === resolve(cwd);
}
