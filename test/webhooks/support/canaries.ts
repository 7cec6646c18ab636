/** Texts, or bytes, that must turn up nowhere, by what they are. */
export type Canaries = Readonly<Record<string, string | Uint8Array>>;

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * What bytes look like in a text: as they are and as they stand in JSON, once or twice; percent-encoded; in hexadecimal digits; in
 * base64 of both alphabets, at each of the three places where they may begin in a longer text; and as lists of numbers, in which
 * `util.inspect` and JSON write buffers, with single spaces in between.
 */
export function formsOf(canary: string | Uint8Array): string[] {
  const bytes = Buffer.from(canary);
  const hex = bytes.toString('hex');
  const base64 = [0, 1, 2].map((shift) => {
    // Whole groups of three bytes encode the same whatever surrounds them.
    const skipped = (3 - shift) % 3;
    return bytes.subarray(skipped, bytes.length - ((bytes.length - skipped) % 3)).toString('base64');
  });
  const url = base64.map((each) => each.replaceAll('+', '-').replaceAll('/', '_'));
  const numbers = [[...bytes].join(' '), hex.replaceAll(/(..)(?!$)/g, '$1 ')];
  return [...new Set([...textsOf(bytes), hex, hex.toUpperCase(), ...base64, ...url, ...numbers])].filter(
    // Of something short nothing may be left at some beginning, and nothing is found everywhere.
    (form) => form !== '',
  );
}

function textsOf(bytes: Buffer): string[] {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return [bytes.toString('latin1')];
  }
  const once = inJson(text);
  return [text, once, inJson(once), encodeURIComponent(text)];
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Which of these a text holds, in any form. */
export function foundIn(text: string, canaries: Canaries): string[] {
  // Lists of numbers: with commas, in columns, over several lines.
  const haystack = `${text}\n${text.replaceAll(/[\s,]+/g, ' ')}`;
  return Object.entries(canaries)
    .filter(([, canary]) => formsOf(canary).some((form) => haystack.includes(form)))
    .map(([name]) => name);
}
