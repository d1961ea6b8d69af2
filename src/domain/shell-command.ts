/** Programs whose quoted arguments are commands too. */
const RUNS_TEXT = /\b(?:eval|sh|bash|zsh|dash|ash|fish|pwsh|ssh|su|xargs|script|watch)\b/;
const QUOTED = /'[^']*'|"(?:[^"\\]|\\.)*"/gs;
const CONTINUED = /\\\n/g;
/** `a | b`, `a; b`, `a || b`, `a &`, several lines, `! a`: what is reported is another command's exit code, or not the plain one. */
const HIDES = /\|(?!\|)|\|\||;|\n|(?<![&>|<\d])&(?![&>])|(?:^|\s)!\s|[<>]\(/;
const SUBSTITUTES = /`|\$\(/;

/** Whether the exit code of a command line may say nothing about the commands in it. In doubt it does. */
export function hidesExitCode(command: string): boolean {
	const line = command.trim().replaceAll(CONTINUED, " ");
	if (SUBSTITUTES.test(line.replaceAll(/'[^']*'/gs, ""))) return true;
	return HIDES.test(RUNS_TEXT.test(line) ? line : line.replaceAll(QUOTED, "''"));
}

/** Whether something that the command line starts may go on when the command has ended. */
export const leavesProcesses = (command: string): boolean =>
	/(?<![&>|<\d])&(?![&>])|\b(?:nohup|setsid|disown|systemd-run|tmux|docker|podman)\b/.test(command);

const SCRIPTS = String.raw`(?:npm|pnpm|yarn|bun)(?:\s+-\S+)*\s+(?:run(?:-script)?\s+)?(?:t|tst|test)(?:[:\w-]*)`;
const RUNNERS = String.raw`(?:pytest|py\.test|vitest|jest|mocha|ava|tap|jasmine|karma|ctest|phpunit|pest|rspec|tox|nox|bats|busted|gotestsum)`;
const SUBCOMMANDS = String.raw`(?:cargo|go|dotnet|swift|mix|deno|bun|sbt|bazel|flutter|dart|zig|lein|stack|cabal|rails|rake|just|task|make|ninja|mvnw?|gradlew?|playwright|cypress)(?:\s+[^|;&\s]+)*?\s+(?:[^|;&\s]*:)?(?:test|tests|check|verify|nextest)`;
const MODULES = String.raw`(?:python[\d.]*|py)\s+-m\s+(?:pytest|unittest|nose2?)|node(?:\s+\S+)*?\s+--test`;
const TEST = new RegExp(
	String.raw`(?:^|[\s;&|(/"'])(?:${[SCRIPTS, RUNNERS, SUBCOMMANDS, MODULES].join("|")})(?=$|[\s;&|)"':])`,
);

/** Whether a command line runs tests, as far as its words tell. */
export const runsTests = (command: string): boolean => TEST.test(command);

/** Programs for which 1 is an answer and no failure. */
const ASKING =
	/^\s*(?:!\s*)?(?:grep|egrep|fgrep|rg|ag|diff|cmp|test|\[|which|command|type|pgrep|git\s+(?:diff|grep|merge-base))(?:\s|$)/;

/** Whether an exit code means that something went wrong. */
export const hasFailed = (command: string, exit: number): boolean =>
	exit !== 0 && !(exit === 1 && ASKING.test(lastPart(command)));

const lastPart = (command: string) => command.split(/&&|\|\||[|;\n]/).findLast((part) => part.trim() !== "") ?? command;
