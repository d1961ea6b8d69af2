import assert from "node:assert/strict";
import { test } from "node:test";
import { terminalSvg } from "../../scripts/terminal-svg.ts";

const ESC = "\u001b";

test("The picture of a screen has every character in its column, with its colours", () => {
	const svg = terminalSvg([`a${ESC}[1;38;2;255;0;16mred${ESC}[0m日b`, `${ESC}[48;5;196m  <&>`, `${ESC}[39mstill`], 20);
	assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="192" height="78"/);
	const texts = [...svg.matchAll(/<text x="([\d.]+)" y="([\d.]+)" fill="(#\w+)"[^>]*>([^<]*)</g)].map((found) =>
		found.slice(1),
	);
	assert.deepEqual(texts, [
		["12.0", "25.5", "#d4d4d4", "a"],
		["20.4", "25.5", "#ff0010", "red"],
		["45.6", "25.5", "#d4d4d4", "日"],
		["62.4", "25.5", "#d4d4d4", "b"],
		["12.0", "43.5", "#d4d4d4", "  &lt;&amp;&gt;"],
		["12.0", "61.5", "#d4d4d4", "still"],
	]);
	assert.equal(svg.match(/fill="#ff0000"/g)?.length, 2);
	assert.match(svg, /font-weight="bold"[^>]*>red</);
});
