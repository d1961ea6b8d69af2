import assert from "node:assert/strict";
import { test } from "node:test";
import { claimedFiles } from "../../src/domain/claims.ts";

const CLAIMS: readonly (readonly [answer: string, ...files: string[]])[] = [
	["I wrote docs/x.md.", "docs/x.md"],
	["I have written the summary to `docs/x.md`.", "docs/x.md"],
	["Created `src/new.ts` and added tests in test/new.test.ts.", "src/new.ts", "test/new.test.ts"],
	["Fixed the off-by-one error in ./lib/range.py by moving the check.", "./lib/range.py"],
	["The report has been saved to out/report.html", "out/report.html"],
	["docs/guide.md has been updated.", "docs/guide.md"],
	["The file notes.txt was created successfully.", "notes.txt"],
	[
		"Done!\n\nI changed the following files:\n- `src/a.ts`: the parser\n- **src/b.ts** (new)\n\nAll good.",
		"src/a.ts",
		"src/b.ts",
	],
	["Modified: src/a.ts, src/q.ts", "src/a.ts", "src/q.ts"],
	["I've refactored /abs/path/main.go", "/abs/path/main.go"],
	["Updated the config in ~/app/settings.json", "~/app/settings.json"],
	["I put the answer into answer.txt.", "answer.txt"],
];

const NO_CLAIMS: readonly string[] = [
	"I did not change src/b.ts.",
	"No files were modified; see src/b.ts line 3.",
	"src/b.ts should be updated to match src/a.ts.",
	"The bug is in src/b.ts: it was added in commit abc123.",
	"You need to have created config.yaml first.",
	"I would have edited main.go but lacked permission.",
	"package.json was changed last week.",
	"Nothing written. README.md is fine.",
	"I read src/a.ts and looked at docs/x.md.",
	"The PR added src/new.ts and modified src/old.ts.",
	"I wrote the tests with Node.js 22.",
	"Updated the answer as src/zz.ts expects.",
	"I added a comment based on docs/style.md.",
	"I couldn't save report.md.",
	"If it is written to out.txt, remove it.",
	"```\nwrote build/x.js\n```",
	"See https://example.com/created/index.html, created by others.",
	"Wrote 3 lines, e.g. the header.",
	"I will have created plan.md by then.",
	"Your editor changed notes.txt.",
	"The upstream release changed api.ts.",
];

test("Files that an answer says it has written are found, whichever way it says so (R1)", () => {
	for (const [answer, ...files] of CLAIMS) assert.deepEqual(claimedFiles(answer), files, answer);
});

test("Files that an answer names without saying that it has written them are not (R1)", () => {
	for (const answer of NO_CLAIMS) assert.deepEqual(claimedFiles(answer), [], answer);
});

test("An answer of a megabyte of paths is read in no time, and no more than fifty files are taken from it (R1)", () => {
	const answer = `Created ${"src/deep/er/file.ts, ".repeat(50_000)}`;
	const begun = performance.now();
	assert.deepEqual(claimedFiles(answer), ["src/deep/er/file.ts"]);
	assert.equal(claimedFiles(Array.from({ length: 200 }, (_, at) => `I wrote f${at}.txt.`).join(" ")).length, 50);
	assert.ok(performance.now() - begun < 5_000);
});
