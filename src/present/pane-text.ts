import type { RunEvent } from "../domain/event.ts";
import { endStatusOf } from "../domain/kept-run.ts";
import { cut, describeMessage } from "../domain/messages.ts";
import { questionEndText, questionText } from "../domain/question.ts";
import type { Failure, RunResult } from "../domain/run-result.ts";
import { steerText } from "../domain/steer.ts";
import { STATUS_SIGNS, STATUS_WORDS } from "./background-text.ts";
import { receiptLines } from "./receipt-text.ts";
import { remarksOn } from "./remarks.ts";
import { sanitize, sanitizeLine } from "./sanitize.ts";
import { describeFailure } from "./text.ts";

const MAX_TITLE_CHARS = 60;
const MAX_REASON_CHARS = 1_000;
const LOST: Failure = { kind: "lost" };

/** A run's name on one line. A `#` would begin one of tmux's formats wherever the title is shown. */
export const paneTitle = (label: string): string =>
	cut(sanitizeLine(label), MAX_TITLE_CHARS).replaceAll("#", "♯").trim() || "sub-agent";

/** What transcript.log says of a run, but with answers as they are written: what to print for each event in turn. */
export function createPaneText(): (event: RunEvent) => string {
	let streamed = "";
	const steers = new Map<string, string>();
	return (event) => {
		if (event.type === "steer-queued")
			steers.set(event.steer.id, `${steerText({ ...event.steer, from: event.from })}\n`);
		if (event.type === "steer-received") return sanitize(event.ids.map((id) => steers.get(id) ?? "").join(""));
		if (event.type === "delta") {
			streamed += event.text;
			return sanitize(event.text);
		}
		if (event.type !== "message") return sanitize(aboutQuestion(event));
		const whole = describeMessage(event.message).map((part) => `${part}\n`);
		const text = whole.join("");
		const begun = streamed;
		streamed = "";
		if (begun === "") return sanitize(text);
		return sanitize(text.startsWith(begun) ? text.slice(begun.length) : `\n${text}`);
	};
}

function aboutQuestion(event: RunEvent): string {
	if (event.type === "asked") return `${questionText(event.question)}\n`;
	return event.type === "question-closed" ? `${questionEndText(event.end)}\n` : "";
}

/** The last line: how the run ended. Without a result its supervisor is gone. */
export function paneEnd(result: RunResult | undefined): string {
	const outcome = result?.outcome ?? { kind: "failed", failure: LOST };
	const status = endStatusOf(outcome);
	const reason = outcome.kind === "failed" ? ` — ${sanitizeLine(describeFailure(outcome.failure))}` : "";
	const remarks = result ? remarksOn(result).map((remark) => `, ${sanitizeLine(remark)}`) : [];
	const receipt = receiptLines(result?.receipt).map((line) => `  ${line}\n`);
	return `\n${STATUS_SIGNS[status]} ${STATUS_WORDS[status]}${cut(reason, MAX_REASON_CHARS)}${remarks.join("")}\n${receipt.join("")}`;
}
