import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { resolveKey } from "../../src/definitions/key-reference.ts";
import { isLiteralKey, maskKey } from "../../src/domain/key.ts";

const braced = (name: string) => `$\{${name}}`;
const env = { A_KEY: "sk-from-a", B: "bb", EMPTY: "" };

describe("an apiKey is read as in pi's models.json", () => {
	test("A literal, variables, and the two escapes", async () => {
		const cases: [string, string][] = [
			["sk-plain", "sk-plain"],
			["$A_KEY", "sk-from-a"],
			[braced("A_KEY"), "sk-from-a"],
			["x-$B-y", "x-bb-y"],
			[`${braced("B")}c$B`, "bbcbb"],
			["a$$b$!c", "a$b!c"],
			["$$A_KEY", "$A_KEY"],
			["a$1", "a$1"],
			[braced("not-a-name"), braced("not-a-name")],
			["$" + "{open", "$" + "{open"],
			["end$", "end$"],
		];
		for (const [value, key] of cases) assert.deepEqual(await resolveKey(value, env), { ok: true, value: key }, value);
	});

	test("A variable that is not set, or empty, is an error that names it", async () => {
		assert.deepEqual(await resolveKey("$NOPE", env), {
			ok: false,
			error: "its apiKey refers to $NOPE, which is not set",
		});
		assert.equal((await resolveKey(`a${braced("EMPTY")}`, env)).ok, false);
	});

	test("A command is run once, its output trimmed; one that fails is told without its output", async (t) => {
		const directory = mkdtempSync(join(tmpdir(), "pi-key-"));
		t.after(() => rmSync(directory, { recursive: true }));
		const counter = join(directory, "count");
		writeFileSync(counter, "");
		const command = `!echo x >> ${counter}; echo ' sk-by-command '`;
		assert.deepEqual(await resolveKey(command), { ok: true, value: "sk-by-command" });
		assert.deepEqual(await resolveKey(command), { ok: true, value: "sk-by-command" });
		assert.equal(readFileSync(counter, "utf8"), "x\n");
		const failed = { ok: false, error: "the command of its apiKey failed, or printed nothing" };
		assert.deepEqual(await resolveKey("!echo sk-secret; exit 3"), failed);
		assert.deepEqual(await resolveKey("!cat"), failed);
	});

	test("A command that failed is run again for the next key, and one that worked is not [X28]", async (t) => {
		const directory = mkdtempSync(join(tmpdir(), "pi-key-"));
		t.after(() => rmSync(directory, { recursive: true }));
		const [locked, count] = [join(directory, "locked"), join(directory, "count")];
		writeFileSync(locked, "");
		const command = `!echo x >> ${count}; test ! -e ${locked} && echo sk-unlocked`;
		assert.equal((await resolveKey(command)).ok, false);
		rmSync(locked);
		assert.deepEqual(await resolveKey(command), { ok: true, value: "sk-unlocked" });
		assert.deepEqual(await resolveKey(command), { ok: true, value: "sk-unlocked" });
		assert.equal(readFileSync(count, "utf8"), "x\nx\n");
	});

	test("A key that no header could carry is refused without being told", async () => {
		const refused = { ok: false, error: "its apiKey has characters that no key can have" };
		for (const value of ["sk-a\nb", "sk a", "sk-ä", "!printf 'sk-1\\nsk-2'"])
			assert.deepEqual(await resolveKey(value), refused);
	});

	test("A key is shown in outline, a reference as it is (A153, X17)", () => {
		assert.equal(maskKey("sk-test-abc123"), "sk-t****bc123");
		assert.equal(maskKey("twelve-chars"), "twel****chars");
		assert.equal(maskKey("eleven-char"), "****");
		assert.equal(maskKey("$MY_KEY"), "$MY_KEY");
		assert.equal(maskKey("!pass show key"), "(from a command)");
		assert.equal(maskKey("sk-secret-$SUFFIX"), "sk-s****UFFIX");
		assert.deepEqual(["a$$b", "$X", "!c", `a${braced("Y")}`].map(isLiteralKey), [true, false, false, false]);
	});
});
