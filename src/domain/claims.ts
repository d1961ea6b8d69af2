/** Verbs by which an answer says that a file was written. */
const WROTE =
	/\b(?:wrote|written|created|added|updated|modified|edited|changed|saved|generated|implemented|refactored|rewrote|rewritten|fixed|put)\b/i;
/** In the passive these alone are a claim: "was changed" tells history more often than work. */
const MADE = /^(?:written|created|saved|generated)$/i;
const PASSIVE = /\b(?:ha(?:s|ve)\s+(?:\w+ly\s+|now\s+|just\s+)?been|was|were)\s+(?:\w+ly\s+|now\s+|just\s+)?$/i;
/** What stands before the verb and takes it back: it was not done, is only meant to be, or somebody else did it. */
const NOT_DONE =
	/\b(?:not|never|no|none|nothing|without|neither|nor|cannot|could|would|should|shall|will|may|might|must|if|unless|when|once|before|need(?:s|ed)?|want(?:s|ed)?|plan(?:s|ned)?|failed|unable|was|were|already|is|are|be|who|you|your|they|users?|commits?|PR|patch|diff|branch|author|merge|upstream)\b|n't\b/i;
/** Somebody's work of another day. */
const HISTORY = /\b(?:ago|last|previously|originally|earlier|yesterday|commit|release|version)\b/i;
/** From here on a sentence is about something else than what was written. */
const ELSEWHERE =
	/(?<![\w-])(?:because|since|as|so that|which|that|who|from|based on|like|unlike|using|with|by|via|to match|according to|instead of|rather than|but|while|see|than|through|after|before|imports?|uses?|calls?|reads?)(?![\w-])|[;:](?=\s)/i;
/** A path behind these is what the work is about, not where it went. */
const ABOUT = /\b(?:for|of|about|against|per|covering|testing|and not|not)\s+(?:the\s+|file\s+|module\s+)*$/i;
const PATH = /(?<![\w/.@:-])(?:~?\/|\.{1,2}\/)?[\w@.+-]+(?:\/[\w@.+-]+)*\.[A-Za-z]\w{0,9}(?![\w/(])/g;
/** Names and abbreviations that look like files. */
const NO_FILE = /^(?:e\.g|i\.e|[A-Z]\w*\.(?:js|io|ai|py|net)|v?\d[\d.]*\w*|[\w.-]+\.(?:com|org|net|dev|io))$/;
const CODE = /```[^\n]*\n[\s\S]*?(?:```|$)/g;
const URL = /\b[a-z][a-z+.-]*:\/\/\S+/gi;
const ITEM = /^\s*(?:[-*+•]|\d+[.)])\s+/;
const MAX_TEXT_CHARS = 100_000;
const MAX_SENTENCE_CHARS = 2_000;
const MAX_CLAIMS = 50;

/**
 * The files that an answer says its author has written, in its own words. It reads English sentences and no more: what it
 * finds is a reason to look, and nothing is proven where it finds nothing.
 */
export function claimedFiles(answer: string): readonly string[] {
	const text = answer.slice(0, MAX_TEXT_CHARS).replaceAll(CODE, "\n").replaceAll(URL, " ");
	const claimed = new Set<string>();
	let isListed = false;
	for (const line of text.split("\n")) {
		const plain = line.replaceAll("**", "").replaceAll(/[`'"]/g, " ").trimEnd();
		if (isListed && ITEM.test(plain)) {
			const [first] = pathsIn(plain.replace(ITEM, "").split(/\s[-–—(:]|:\s/, 1)[0] ?? "");
			if (first !== undefined) claimed.add(first);
			continue;
		}
		if (plain.trim() === "") continue;
		for (const path of plain.split(/(?<=[.!?])\s+/).flatMap((sentence) => claimsIn(cutWords(sentence))))
			claimed.add(path);
		isListed = plain.endsWith(":") && claimIn(plain) !== undefined;
	}
	return [...claimed].slice(0, MAX_CLAIMS);
}

/** The sentence before and behind its verb, where it says that something was written. */
function claimIn(sentence: string): { readonly subject: string; readonly said: string } | undefined {
	const verb = WROTE.exec(withoutPaths(sentence));
	if (!verb || HISTORY.test(withoutPaths(sentence))) return undefined;
	const before = sentence.slice(0, verb.index);
	const passive = PASSIVE.exec(before);
	const isWeak = passive !== null && /^w/i.test(passive[0]) && !MADE.test(verb[0]);
	const subject = before.slice(0, passive?.index);
	if (isWeak || NOT_DONE.test(withoutPaths(subject))) return undefined;
	return { subject: passive ? subject : "", said: sentence.slice(verb.index + verb[0].length) };
}

function claimsIn(sentence: string): string[] {
	const claim = claimIn(sentence);
	if (!claim) return [];
	const said = claim.said.replace(/^\s*(?:files?\s*)?:/i, (mark) => " ".repeat(mark.length));
	return [...pathsIn(claim.subject), ...pathsIn(said.slice(0, ELSEWHERE.exec(withoutPaths(said))?.index))];
}

const pathsIn = (text: string): string[] =>
	[...text.matchAll(PATH)]
		.filter(({ 0: path, index }) => !NO_FILE.test(path) && !ABOUT.test(text.slice(0, index)))
		.map(([path]) => path);

const cutWords = (text: string) =>
	text.length <= MAX_SENTENCE_CHARS ? text : text.slice(0, MAX_SENTENCE_CHARS).replace(/\S*$/, "");

/** The words in a path say nothing about the sentence. */
const withoutPaths = (text: string) => text.replaceAll(PATH, (path) => "x".repeat(path.length));
