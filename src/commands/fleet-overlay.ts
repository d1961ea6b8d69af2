import type { Theme } from "@earendil-works/pi-coding-agent";
import { type Component, type KeyId, matchesKey } from "@earendil-works/pi-tui";
import type { Result } from "../domain/result.ts";
import { fleetRows, noticeRows } from "../present/fleet-view.ts";
import { filled, type Panel, panelRows } from "../present/panel-view.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import { BEGINNING, type Position, rowsFrom, scrolled } from "../present/scroll.ts";
import { receiptText, transcriptBlocks, watchTitle } from "../present/watch-view.ts";
import { createFleet, type Fleet, type FleetHost, type FleetRun, type FleetScope, SCOPES } from "../session/fleet.ts";
import { hasEnded } from "../session/fleet-run.ts";
import { withQuestions } from "./fleet-questions.ts";
import { INPUT_KEYS, LIST_KEYS, messageTitle, resumeText, WATCH_KEYS } from "./fleet-words.ts";
import { createMessageInput, type MessageInput } from "./message-input.ts";

/** What the overlay shows: the list, or one run. */
type Mode = { readonly kind: "list" } | { readonly kind: "watch"; readonly runId: string };

/** What the overlay wants done when it has closed. */
export type Request = { readonly kind: "nothing" } | { readonly kind: "editor"; readonly text: string };

/** A second press within this time is meant. */
const TWICE_MS = 3_000;
/** Whoever typed on as if the input had opened presses no keys with it. */
const DEAF_MS = 2_000;
const NOTICE_MS = 4_000;
const LOOK_MS = 2_000;

export interface Overlay extends Component {
	handleInput(data: string): void;
	dispose(): void;
}

export function createOverlay(
	host: FleetHost,
	theme: Theme,
	redraw: () => void,
	done: (request: Request) => void,
	watch: string | undefined,
	rowsOfScreen: () => number = () => process.stdout.rows ?? 24,
): Overlay {
	const fleet = createFleet(host, redraw);
	const view = new FleetOverlay(fleet, theme, redraw, done, rowsOfScreen);
	view.watch(watch);
	const answering = withQuestions(view, host.questions, { theme, redraw, rowsOfScreen });
	const leave = host.live.subscribe(redraw);
	const clock = setInterval(redraw, 1_000);
	const looking = setInterval(() => void fleet.look(view.scope), LOOK_MS);
	return {
		render: (width) => answering.render(width),
		handleInput(data) {
			answering.handleInput(data);
			redraw();
		},
		invalidate() {},
		dispose() {
			clearInterval(clock);
			clearInterval(looking);
			leave();
			answering.dispose();
			fleet.close();
		},
	};
}

class FleetOverlay {
	scope: FleetScope = "session";
	/** Said before the keys. */
	hint = "";
	private mode: Mode = { kind: "list" };
	private selected: string | undefined;
	/** From where the watched run is shown. */
	private top: Position = "end";
	/** Rows to scroll by, up or down, when it is drawn the next time. */
	private scrollBy = 0;
	private page = 10;
	private input: MessageInput | undefined;
	/** What was written and not sent, by run. */
	private readonly drafts = new Map<string, MessageInput>();
	private deafUntil = 0;
	private armed: { readonly runId: string; readonly until: number } | undefined;
	private notice: { readonly text: string; readonly until: number } | undefined;
	private readonly fleet: Fleet;
	private readonly theme: Theme;
	private readonly redraw: () => void;
	private readonly done: (request: Request) => void;
	private readonly rowsOfScreen: () => number;

	constructor(
		fleet: Fleet,
		theme: Theme,
		redraw: () => void,
		done: (request: Request) => void,
		rowsOfScreen: () => number,
	) {
		this.fleet = fleet;
		this.theme = theme;
		this.redraw = redraw;
		this.done = done;
		this.rowsOfScreen = rowsOfScreen;
	}

	get isWriting(): boolean {
		return this.input !== undefined;
	}

	get selectedRun(): string | undefined {
		return this.current()?.runId;
	}

	watch(runId: string | undefined): void {
		if (runId === undefined) return;
		this.selected = runId;
		this.mode = { kind: "watch", runId };
		this.top = "end";
	}

	render(width: number): string[] {
		const height = Math.max(6, this.rowsOfScreen() - 2);
		const run = this.current();
		if (run) this.fleet.attend(run);
		if (this.mode.kind === "watch" && run) return this.watchRows(run, width, height);
		this.fleet.watch(undefined);
		const runs = this.fleet.runs(this.scope);
		for (const each of runs) if (each.shown === "running") this.fleet.attend(each);
		const selected = Math.max(
			0,
			runs.findIndex(({ runId }) => runId === run?.runId),
		);
		const keys = this.withHint(LIST_KEYS);
		const picture = { runs, selected, scope: this.scope, scopes: SCOPES, keys, now: Date.now() };
		return fleetRows({ ...picture, notice: this.noticeText(), width, height }, this.theme);
	}

	private watchRows(run: FleetRun, width: number, height: number): string[] {
		const foot = this.footOf(run, width);
		const room = Math.max(1, height - 2 - (foot ? 1 + foot.rows.length : 0));
		this.page = Math.max(1, room - 2);
		const now = Date.now();
		const place = { width: Math.max(8, width - 4), theme: this.theme, now };
		const blocks = transcriptBlocks(run, this.fleet.watch(run), place);
		if (this.scrollBy !== 0) this.top = scrolled(blocks, this.top, this.scrollBy, room);
		this.scrollBy = 0;
		const corner = this.top === "end" ? [] : ["more below"];
		const notice = noticeRows(this.noticeText(), width, this.theme).length > 0 ? undefined : this.noticeText();
		const keys = notice === undefined ? (this.input ? INPUT_KEYS : this.withHint(WATCH_KEYS)) : [notice];
		const body = filled(rowsFrom(blocks, this.top, room), room);
		return panelRows({ title: watchTitle(run, now), corner, body, foot, keys }, width, this.theme);
	}

	/** Below what is watched: the message that is being written, or a notice that is too long for the edge. */
	private footOf(run: FleetRun, width: number): Panel["foot"] {
		const name = sanitizeLine(run.label);
		if (this.input) return { title: messageTitle(name, run), rows: this.input.render(Math.max(10, width - 4)) };
		const said = noticeRows(this.noticeText(), width, this.theme);
		return said.length > 0 ? { title: name, rows: said } : undefined;
	}

	handleInput(data: string): void {
		if (data !== "x") this.armed = undefined;
		if (this.input) return void this.handleMessage(data, this.input);
		if (this.mode.kind === "watch") return void this.handleWatch(data);
		this.handleList(data);
	}

	/** While the input is open every letter belongs to the message. */
	private handleMessage(data: string, input: MessageInput): void {
		if (matchesKey(data, "escape")) this.input = undefined;
		else if (matchesKey(data, "enter")) this.send(input, "turn-end");
		else if (matchesKey(data, "ctrl+n")) this.send(input, "now");
		else input.handleInput(data);
	}

	private handleWatch(data: string): void {
		const is = (...keys: KeyId[]) => keys.some((key) => matchesKey(data, key));
		if (is("escape")) this.mode = { kind: "list" };
		else if (is("up")) this.scrollBy -= 1;
		else if (is("down")) this.scrollBy += 1;
		else if (is("pageUp")) this.scrollBy -= this.page;
		else if (is("pageDown")) this.scrollBy += this.page;
		else if (is("home")) this.top = BEGINNING;
		else if (is("end")) this.top = "end";
		else this.handleAction(data);
	}

	private handleList(data: string): void {
		const is = (...keys: KeyId[]) => keys.some((key) => matchesKey(data, key));
		if (is("escape")) this.done({ kind: "nothing" });
		else if (is("up")) this.move(-1);
		else if (is("down")) this.move(1);
		else if (is("pageUp")) this.move(-this.page);
		else if (is("pageDown")) this.move(this.page);
		else if (is("tab")) this.widen();
		else if (is("enter")) this.watch(this.current()?.runId);
		else this.handleAction(data);
	}

	private handleAction(data: string): void {
		const run = this.current();
		if (!run || Date.now() < this.deafUntil) return;
		if (data === "m") this.openInput(run);
		else if (data === "x") this.stop(run);
		else if (data === "b") this.release(run);
		else if (data === "r") this.resume(run);
		else if (data === "f") this.say(run.directory ?? "It has no directory yet.", 15_000);
	}

	private current(): FleetRun | undefined {
		const runs = this.fleet.runs(this.scope);
		const wanted = this.mode.kind === "watch" ? this.mode.runId : this.selected;
		return runs.find(({ runId }) => runId === wanted) ?? (this.mode.kind === "watch" ? undefined : runs[0]);
	}

	private move(by: number): void {
		const runs = this.fleet.runs(this.scope);
		const at = runs.findIndex(({ runId }) => runId === this.current()?.runId);
		this.selected = runs[Math.max(0, Math.min(runs.length - 1, at + by))]?.runId;
	}

	private widen(): void {
		this.scope = SCOPES[(SCOPES.indexOf(this.scope) + 1) % SCOPES.length] ?? "session";
		void this.fleet.look(this.scope);
	}

	private openInput(run: FleetRun): void {
		if (hasEnded(run)) {
			this.deafUntil = Date.now() + DEAF_MS;
			return void this.say("It has ended. r puts a request to resume it into the editor.");
		}
		this.watch(run.runId);
		this.input = this.drafts.get(run.runId) ?? createMessageInput();
		this.drafts.set(run.runId, this.input);
	}

	private send(input: MessageInput, when: "turn-end" | "now"): void {
		const run = this.current();
		if (!run || input.text().trim() === "") return;
		this.input = undefined;
		this.drafts.delete(run.runId);
		this.say("Sending …");
		void this.fleet.message(run, input.text(), when).then((sent) => {
			if (!sent.ok) {
				this.drafts.set(run.runId, input);
				return void this.say(`Not delivered: ${sent.error}`);
			}
			this.say("Message queued");
			void sent.value.settled.then((receipt) => this.say(`Message ${receiptText(receipt)}`));
		});
	}

	private stop(run: FleetRun): void {
		if (hasEnded(run)) return void this.say("It has ended.");
		const now = Date.now();
		if (this.armed?.runId !== run.runId || this.armed.until < now) {
			this.armed = { runId: run.runId, until: now + TWICE_MS };
			return void this.say(`x again stops ${sanitizeLine(run.label)}`, TWICE_MS);
		}
		this.armed = undefined;
		this.say(`Stopping ${sanitizeLine(run.label)}`);
		void this.fleet.stop(run).then((stopped: Result<undefined>) => stopped.ok || this.say(stopped.error));
	}

	private release(run: FleetRun): void {
		this.say(`Moving ${sanitizeLine(run.label)} to the background …`);
		void this.fleet.release(run).then((released) => {
			this.say(released.ok ? `${run.label} goes on in the background` : released.error);
		});
	}

	private resume(run: FleetRun): void {
		if (run.endedAt === undefined) return void this.say("It is still running. m sends it a message.");
		this.done({ kind: "editor", text: resumeText(run) });
	}

	private say(text: string, ms = NOTICE_MS): void {
		this.notice = { text: sanitizeLine(text), until: Date.now() + ms };
		this.redraw();
	}

	private withHint(keys: readonly string[]): string[] {
		return keys.map((each) => this.hint + each);
	}

	private noticeText(): string | undefined {
		return this.notice && this.notice.until > Date.now() ? this.notice.text : undefined;
	}
}
