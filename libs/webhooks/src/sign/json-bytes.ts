import { WebhookInputError } from '../errors';

/** In bytes: 64 KiB. */
export const bodyLimit = 65_536;

// `ignoreBOM` keeps a byte order mark, which is no JSON, so that it is refused instead of lost.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Bytes that are one JSON text in UTF-8: kept as they are, and never written anew.
 * @throws WebhookInputError
 */
export function checkBody(bytes: unknown): Buffer {
  if (bytes instanceof Uint8Array && bytes.length <= bodyLimit && isJson(bytes)) return Buffer.from(bytes);
  throw new WebhookInputError('body', `the bytes of one valid JSON text in UTF-8, ${bodyLimit} at most`);
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(utf8.decode(bytes));
    return true;
  } catch {
    return false;
  }
}
