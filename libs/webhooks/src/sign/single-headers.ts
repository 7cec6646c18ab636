import { WebhookSignatureError } from '../errors';

/**
 * The values of headers that must each be there once, whatever their names' case. Read from Node's `rawHeaders`: its `headers` joins
 * or drops repeated ones, so that a second one would not be seen.
 *
 * @param rawHeaders names and values in turn, as they came
 * @throws WebhookSignatureError when one is missing, or is there twice
 */
export function singleHeaders<Name extends string>(
  rawHeaders: readonly string[],
  names: readonly Name[],
): Record<Name, string> {
  const found = new Map<string, string>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    if (!names.includes(name as Name)) continue;
    if (found.has(name)) throw new WebhookSignatureError();
    found.set(name, rawHeaders[index + 1]!);
  }
  if (found.size !== names.length) throw new WebhookSignatureError();
  return Object.fromEntries(found) as Record<Name, string>;
}

/** Whether one of these headers is there at all. */
export const hasHeader = (rawHeaders: readonly string[], name: string): boolean =>
  rawHeaders.some((text, index) => index % 2 === 0 && text.toLowerCase() === name);
