import { WebhookInputError, WebhookSignatureError } from '../errors';
import { decodeBase64 } from './base64';
import { checkSkew, readTimestamp, requireFresh } from './clock';
import { singleHeaders } from './single-headers';
import type { StandardSigner, StandardVerifier } from './standard-keys';
import type { SignedHeaders } from './webhook-signature';

export const standardHeaders = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

/** Signatures that a verifier tries at most: each costs an HMAC or more, and anybody may send them. */
const maxEntries = 16;

/** Visible ASCII without a full stop, which separates it from the timestamp in what is signed. */
const idPattern = /^[\x21-\x2d\x2f-\x7e]{1,255}$/;

/**
 * The headers of one attempt under the Standard Webhooks specification, with an entry for each key that is live.
 * @param timestamp seconds since 1970
 * @throws WebhookInputError for an id that would make two messages sign the same
 */
export function signStandard(
  keys: readonly StandardSigner[],
  { id, timestamp, body }: { id: string; timestamp: number; body: Uint8Array },
): SignedHeaders {
  if (!idPattern.test(id)) throw new WebhookInputError('webhook-id', '1 to 255 visible characters without a full stop');
  const content = contentOf(id, timestamp, body);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': keys.map((key) => key.sign(content)).join(' '),
  };
}

/** What a Standard Webhooks request says of itself. */
export interface StandardMessage {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

/**
 * Verifies what arrived: one entry of the header must be the signature of one of the keys.
 *
 * @param rawHeaders Node's `request.rawHeaders`: names and values in turn
 * @param body the raw bytes
 * @param now in ms since 1970
 * @param maxSkew in seconds, 1 to 300
 * @throws WebhookSignatureError for whatever is wrong with it; WebhookInputError, WebhookClockError for a mistake of the caller
 */
export function verifyStandard(
  keys: readonly StandardVerifier[],
  rawHeaders: readonly string[],
  body: Uint8Array,
  now: number,
  maxSkew: number,
): StandardMessage {
  checkSkew(maxSkew);
  const headers = singleHeaders(rawHeaders, standardHeaders);
  const id = headers['webhook-id'];
  const timestamp = readTimestamp(headers['webhook-timestamp']);
  if (!idPattern.test(id) || timestamp === undefined) throw new WebhookSignatureError();
  const entries = readEntries(headers['webhook-signature']);
  requireFresh(timestamp, now, maxSkew);
  const content = contentOf(id, timestamp, body);
  let valid = false;
  // Every pair, also after one that fits: how long it takes says nothing about which it was.
  for (const { version, signature } of entries) {
    for (const key of keys) if (key.version === version && key.verify(content, signature)) valid = true;
  }
  if (!valid) throw new WebhookSignatureError();
  return { id, timestamp };
}

const signatureLengths: Readonly<Record<string, number>> = { v1: 32, v1a: 64 };

/** Entries are separated by spaces. Versions that are not known yet are passed over, as the specification wants it. */
function readEntries(header: string): { version: string; signature: Buffer }[] {
  const entries = header.split(' ').filter((entry) => entry !== '');
  if (entries.length === 0 || entries.length > maxEntries) throw new WebhookSignatureError();
  return entries.flatMap((entry) => {
    const [, version, encoded] = /^([A-Za-z0-9]{1,16}),([\x21-\x7e]+)$/.exec(entry) ?? [];
    if (version === undefined || encoded === undefined) throw new WebhookSignatureError();
    const length = signatureLengths[version];
    if (length === undefined) return [];
    const signature = decodeBase64(encoded);
    if (signature?.length !== length) throw new WebhookSignatureError();
    return [{ version, signature }];
  });
}

const contentOf = (id: string, timestamp: number, body: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`${id}.${timestamp}.`, 'utf8'), body]);
