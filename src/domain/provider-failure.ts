import { modelName } from "./model-name.ts";
/** A model whose provider gave up on a run, and what it said. */
export interface FailedModel {
	readonly provider: string;
	readonly id: string;
	readonly message: string;
}

const STATUS = /^\W*(?:error|http|status|code)?[\s:"]*\b([45]\d\d)\b/i;
/** The account is used up: another provider may have room, whatever the status says. */
const QUOTA =
	/quota|billing|credit balance|insufficient (?:funds|credits?|balance)|out of (?:budget|credits?)|payment required|(?:usage|spend(?:ing)?) limit/i;
const TRANSIENT =
	/overloaded|high demand|rate.?limit|too many requests|unavailable|server.?error|internal.?error|network|connection|connect error|fetch failed|getaddrinfo|enotfound|eai_again|econn|epipe|socket|other side closed|time[d-]? ?out|timeout|terminated|websocket|ended (?:without|before)|did not get a response|resource.?exhausted|provider.?returned.?error|(?:re)?try your request/i;

/**
 * Whether another model may do better: the provider was overloaded, broken or out of reach, or the account has no quota
 * left. A request that was refused for what it says, or for its key, would be refused elsewhere too.
 */
export function isProviderFailure(error: string): boolean {
	if (QUOTA.test(error)) return true;
	const status = Number(STATUS.exec(error)?.[1]);
	if (status === 429 || status === 408 || status >= 500) return true;
	return Number.isNaN(status) && TRANSIENT.test(error);
}

const MAX_WORDS_CHARS = 300;

/** `mock/m1 failed: 429 …`, one after the other. */
export const describeFailedModels = (failed: readonly FailedModel[]): string =>
	failed.map(({ message, ...model }) => `${modelName(model)} failed: ${message.slice(0, MAX_WORDS_CHARS)}`).join("; ");
