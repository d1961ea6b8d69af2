import { isSocketOf } from "../child/protocol.ts";
import { connectControl } from "./control-client.ts";

/** Whether a run's supervisor answers on the socket it is said to have. A pid proves nothing: it may be somebody else's. */
export async function isAlive(runId: string, socket: string): Promise<boolean> {
	if (!isSocketOf(runId, socket)) return false;
	const control = await connectControl(socket);
	if (control.ok) control.value.close();
	return control.ok;
}
