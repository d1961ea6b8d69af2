let key = "alt+a";

/** The person has chosen another key for the fleet view, or none. */
export function nameFleetKey(chosen: string): void {
	key = chosen;
}

/** What opens the fleet view: on a Mac the key may type a character, and then there is the command. */
export const fleetKeyText = (): string => (key === "" ? "/subagents" : key);
