import type { Home } from "./home.ts";
import { piCommand } from "./pi.ts";
import { startTerminal, type Terminal, type TerminalOptions } from "./terminal.ts";

export interface PiTerminalOptions extends TerminalOptions {
	args?: string[];
	/** Given with `-e`. */
	extension?: string;
	env?: Record<string, string>;
}

/** The real pi in a terminal, ready for a prompt. */
export async function startPiTerminal(home: Home, options: PiTerminalOptions = {}): Promise<Terminal> {
	const extension = options.extension === undefined ? [] : ["-e", options.extension];
	const command = piCommand([...extension, ...(options.args ?? ["--no-session"])]);
	const terminal = await startTerminal(command, { ...home.env, ...options.env }, { cwd: home.project, ...options });
	try {
		// Before it has set its title pi draws its editor, but refuses Enter.
		await terminal.waitForTitle(/^π/);
		return terminal;
	} catch (error) {
		const screen = await terminal.capture();
		await terminal.dispose();
		throw new Error(`pi did not start in the terminal:\n${screen}`, { cause: error });
	}
}
