import assert from "node:assert/strict";
import { test } from "node:test";
import { hasFailed, hidesExitCode, leavesProcesses, runsTests } from "../../src/domain/shell-command.ts";

test("An exit code that may be another command's is known to be hidden (R4)", () => {
	const hidden = [
		...["npm test | tail -1", "npm test; echo done", "npm test || true", "npm test &", "npm test\necho done"],
		...["! npm test", 'echo "$(npm test)"', "echo `npm test`", 'bash -c "npm test; true"', "diff <(npm test) x"],
		...["npm test 2>&1 | cat", "sh -c 'npm test | cat'", "cd a; npm test"],
	];
	for (const command of hidden) assert.ok(hidesExitCode(command), command);
	const plain = [
		...["npm test", "cd web && npm test", "npm test 2>&1", "npm test &> log", "npm test -- --grep 'a|b;c'"],
		...['node --test --test-name-pattern="a; b"', "npm test \\\n  --silent", "CI=1 npm test >out.txt 2>&1"],
	];
	for (const command of plain) assert.ok(!hidesExitCode(command), command);
});

test("Commands that run tests are told from those that do not (R4)", () => {
	const tests = [
		...[
			"npm test",
			"npm t",
			"npm run test:unit",
			"pnpm -r test",
			"yarn test",
			"bun test",
			"npx vitest run",
			"pytest -q",
		],
		...[
			"python3 -m unittest",
			"cargo test --all",
			"go test ./...",
			"make check",
			"./gradlew :app:test",
			"node --test a.js",
		],
		...["cd a && npm test | tail -1", "mvn -q verify", "CI=1 npm test", "npx jest", "deno test"],
	];
	for (const command of tests) assert.ok(runsTests(command), command);
	for (const command of [
		"ls test",
		"cat test.txt",
		"npm install",
		"git commit -m 'add test'",
		"npx tsc",
		"mkdir tests",
	])
		assert.ok(!runsTests(command), command);
});

test("A search that finds nothing has not failed; a command that breaks has (R4)", () => {
	for (const [command, exit] of [
		["grep x a", 1],
		["cd a && rg x", 1],
		["test -f a", 1],
		["diff a b", 1],
		["ls", 0],
	] as const)
		assert.ok(!hasFailed(command, exit), command);
	for (const [command, exit] of [
		["grep x a", 2],
		["npx tsc", 1],
		["grep x a && false", 1],
		["exit 7", 7],
	] as const)
		assert.ok(hasFailed(command, exit), command);
});

test("Commands whose processes may go on after them are known (R3)", () => {
	for (const command of ["sleep 9 &", "nohup x", "setsid x", "(sleep 1; touch a) & echo"])
		assert.ok(leavesProcesses(command), command);
	for (const command of ["a && b", "a 2>&1", "a &> b", "a >& b", "echo cat"])
		assert.ok(!leavesProcesses(command), command);
});
