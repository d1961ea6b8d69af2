import { chainRows } from "./bash-call.ts";
import { columnsOf, fitEnd, fitLine } from "./fit.ts";
import { type Place, shortenPath } from "./paths.ts";
import { sanitizeLine } from "./sanitize.ts";
import { added, type Piece, pieceText, removed, toolLine, type WindowLine } from "./window-line.ts";

/** Where a preview is seen from, and how many columns it may take. */
export interface PreviewPlace extends Place {
	readonly width: number;
}

type Arguments = Readonly<Record<string, unknown>>;

/** What a call is about, and what follows; only the subject is cut when the columns do not suffice. */
interface Preview {
	readonly name?: string;
	readonly subject: string;
	readonly keep?: "end";
	readonly tail?: readonly Piece[];
}

const MIN_SUBJECT_COLUMNS = 8;
const SHOWN_FILES = 3;

/** A tool call: one line, or a few for a long chain of commands. */
export function toolCallLines(name: string, args: unknown, place: PreviewPlace): WindowLine[] {
	const values = typeof args === "object" && args !== null ? (args as Arguments) : {};
	if (name === "bash" && typeof values.command === "string") return chainRows(values.command, place);
	const preview = previewOf(name, values, place);
	if (preview) return [toolLine(fitPreview(preview.name ?? name, preview, place.width))];
	const json = JSON.stringify(args) ?? "";
	return [toolLine([fitLine(sanitizeLine(json === "{}" ? name : `${name} ${json}`), place.width)])];
}

function fitPreview(name: string, preview: Preview, width: number): Piece[] {
	const head = `${sanitizeLine(name)} → `;
	const tail = preview.tail ?? [];
	const taken = columnsOf(head) + columnsOf(tail.map(pieceText).join(""));
	const room = Math.max(MIN_SUBJECT_COLUMNS, width - taken);
	const subject = preview.keep === "end" ? fitEnd(preview.subject, room) : fitLine(preview.subject, room);
	return [head, subject, ...tail];
}

function previewOf(name: string, args: Arguments, place: Place): Preview | undefined {
	const describe = Object.hasOwn(PREVIEWS, name) ? PREVIEWS[name] : undefined;
	if (describe) return describe(args, place);
	return name.startsWith("lsp_") ? symbolPreview(args, place) : undefined;
}

type Describe = (args: Arguments, place: Place) => Preview | undefined;

/** Undefined where the arguments are not what the tool is known to take: then they are shown as they are. */
const PREVIEWS: Readonly<Record<string, Describe>> = {
	edit: (args, place) => {
		const edits = editsOf(args.edits) ?? [args];
		const sum = (key: string) => edits.reduce((total, edit) => total + countLines(edit[key]), 0);
		return pathPreview(args, place, [
			` (${edits.length} edits) `,
			added(`+${sum("newText")}`),
			"/",
			removed(`-${sum("oldText")}`),
		]);
	},
	write: (args, place) => pathPreview(args, place, [" ", added(`+${countLines(args.content)}`)]),
	read: (args, place) => {
		const { offset, limit } = args;
		if (typeof limit !== "number") return pathPreview(args, place, typeof offset === "number" ? [`:${offset}`] : []);
		const range = `:${typeof offset === "number" ? offset : 1}+${limit} `;
		return pathPreview(args, place, [range, added(`(${limit} lines)`)]);
	},
	grep: (args, place) => {
		const pattern = stringOf(args, "pattern");
		if (pattern === undefined) return undefined;
		const path = stringOf(args, "path");
		const where = stringOf(args, "glob") ?? (path && shortenPath(path, place));
		return { subject: `/${pattern}/`, tail: where === undefined ? [] : [` → ${where}`] };
	},
	ls: (args, place) => ({ subject: shortenPath(stringOf(args, "path") ?? ".", place), keep: "end" }),
	find: (args, place) => {
		const path = stringOf(args, "path");
		return onSubject(stringOf(args, "pattern"), path === undefined ? [] : [` in ${shortenPath(path, place)}`]);
	},
	delegate_to_subagents: (args) => {
		if (!Array.isArray(args.tasks)) return undefined;
		const asked = [args, ...args.tasks.map(fieldsOf)].flatMap((each) => stringOf(each, "profile") ?? []);
		const profiles = asked.length > 0 ? ` [${[...new Set(asked)].join(", ")}]` : "";
		return { subject: `${args.tasks.length} tasks${profiles}` };
	},
	fetch_content: (args) => onSubject(stringOf(args, "url", "urls")),
	fetch_repo: (args) => onSubject(stringOf(args, "url")),
	web_search: (args) => onSubject(stringOf(args, "query", "queries")),
	write_todos: ({ todos }) => (Array.isArray(todos) ? { subject: `${todos.length} todos written` } : undefined),
	edit_todos: (args) => {
		const indices = Array.isArray(args.indices) ? [` [${sanitizeLine(args.indices.map(wordOf).join(", "))}]`] : [];
		return onSubject(stringOf(args, "description", "action"), indices);
	},
	lsp_find_symbol: (args, place) => onSubject(stringOf(args, "query")) ?? symbolPreview(args, place),
	lint: (args, place) => lintPreview(args, place),
	lint_files: (args, place) => lintPreview(args, place),
	get_subagent_output: (args) => onSubject(stringOf(args, "sessionId")),
	get_subagent_session: (args) => onSubject(stringOf(args, "sessionId")),
	background_agent_status: (args) => onSubject(stringOf(args, "runId")),
	workflow_step: (args) => onSubject(stringOf(args, "action")),
};

/** Some models write the list as a text, or the only edit without a list; pi takes both. */
function editsOf(edits: unknown): readonly Arguments[] | undefined {
	if (typeof edits !== "string") return edits === undefined ? undefined : [edits].flat().map(fieldsOf);
	try {
		return [JSON.parse(edits)].flat().map(fieldsOf);
	} catch {
		return undefined;
	}
}

/** A value of the model's own making: `String()` throws for some of them. */
const wordOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

const onSubject = (subject: string | undefined, tail: Piece[] = []): Preview | undefined =>
	subject === undefined ? undefined : { subject, tail };

function pathPreview(args: Arguments, place: Place, tail: Piece[]): Preview | undefined {
	const path = stringOf(args, "path", "file_path");
	return path === undefined ? undefined : { subject: shortenPath(path, place), keep: "end", tail };
}

function lintPreview(args: Arguments, place: Place): Preview {
	const files = [args.files, args.paths].flatMap((each) => each ?? []);
	if (files.length === 0) return { name: "lint", subject: "(all)" };
	const shown = files.slice(0, SHOWN_FILES).map((file) => shortenPath(sanitizeLine(wordOf(file)), place));
	const more = files.length - shown.length;
	return { name: "lint", subject: shown.join(", "), tail: more > 0 ? [` +${more} more`] : [] };
}

function symbolPreview(args: Arguments, place: Place): Preview | undefined {
	const file = stringOf(args, "file", "path", "filePath", "file_path", "uri");
	if (file === undefined) return onSubject(stringOf(args, "query", "symbol"));
	const position = [args.line, args.column ?? args.character ?? args.col].filter((each) => typeof each === "number");
	const newName = stringOf(args, "newName", "new_name");
	return {
		subject: shortenPath(file, place),
		keep: "end",
		tail: [...position.map((each) => `:${each}`), ...(newName === undefined ? [] : [` → ${newName}`])],
	};
}

const fieldsOf = (value: unknown): Arguments => (typeof value === "object" && value !== null ? { ...value } : {});

/** The first of these fields that is a text, or a list that begins with one; printable, on one line. */
function stringOf(args: Arguments, ...keys: readonly string[]): string | undefined {
	const values = keys.map((key) => (Array.isArray(args[key]) ? args[key][0] : args[key]));
	return values.flatMap((value) => (typeof value === "string" && value !== "" ? [sanitizeLine(value)] : []))[0];
}

/** Lines that are not blank. */
export function countLines(text: unknown): number {
	return typeof text === "string" ? (text.match(/^.*\S.*$/gm)?.length ?? 0) : 0;
}
