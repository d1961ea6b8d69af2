import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { FleetHost } from "../session/fleet.ts";
import { createOverlay, type Request } from "./fleet-overlay.ts";

const EDITOR_MS = 50;

/** Opens the fleet view over whatever the agent is doing. Closing it changes nothing for any run. */
export async function openFleet(host: FleetHost, context: ExtensionContext, watch?: string): Promise<void> {
	let redraw = () => {};
	const wanted = await context.ui.custom<Request>(
		(tui, theme, _keybindings, done) => {
			redraw = () => tui.requestRender();
			return createOverlay(host, theme, redraw, done, watch);
		},
		{ overlay: true, overlayOptions: { width: "100%", maxHeight: "100%", anchor: "center" } },
	);
	if (wanted?.kind !== "editor") return;
	// pi empties its editor once the command that opened the view has ended.
	setTimeout(() => {
		context.ui.setEditorText(wanted.text);
		redraw();
	}, EDITOR_MS);
}
