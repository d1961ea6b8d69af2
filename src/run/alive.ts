import { connectControl } from "./control-client.ts";

/** Whether the supervisor behind a control socket answers. A pid proves nothing: it may be somebody else's by now. */
export async function isAlive(socket: string): Promise<boolean> {
	const control = await connectControl(socket);
	if (control.ok) control.value.close();
	return control.ok;
}
