import { WebhookSignatureError } from '../errors';
import { decodeBase64url } from './base64';
import { readTimestamp } from './clock';
import { keyIdPattern, kindPattern, messageIdPattern } from './names';
import { Redacted } from './redacted';
import { singleHeaders } from './single-headers';

/** Headers that carry a signature. */
export type SignedHeaders = Readonly<Record<string, string>>;

export const rullstHeaders = [
  'rullst-webhook-id',
  'rullst-webhook-type',
  'rullst-webhook-timestamp',
  'rullst-webhook-key-id',
  'rullst-webhook-signature',
] as const;

/** The five signature headers of a request, each there once and in its one spelling; not verified yet. */
export class WebhookSignature extends Redacted {
  readonly #tag: Buffer;

  private constructor(
    readonly id: string,
    readonly kind: string,
    /** Seconds since 1970. */
    readonly timestamp: number,
    readonly keyId: string,
    tag: Buffer,
  ) {
    super();
    this.#tag = tag;
  }

  /**
   * @param rawHeaders Node's `request.rawHeaders`: names and values in turn
   * @throws WebhookSignatureError for a header that is missing, malformed or there twice
   */
  static fromRawHeaders(rawHeaders: readonly string[]): WebhookSignature {
    const headers = singleHeaders(rawHeaders, rullstHeaders);
    const id = matching(headers['rullst-webhook-id'], messageIdPattern);
    const kind = matching(headers['rullst-webhook-type'], kindPattern);
    const keyId = matching(headers['rullst-webhook-key-id'], keyIdPattern);
    const timestamp = readTimestamp(headers['rullst-webhook-timestamp']);
    const [, encoded] = /^v1=([A-Za-z0-9_-]{43})$/.exec(headers['rullst-webhook-signature']) ?? [];
    const tag = encoded === undefined ? undefined : decodeBase64url(encoded);
    if (timestamp === undefined || tag === undefined) throw new WebhookSignatureError();
    return new WebhookSignature(id, kind, timestamp, keyId, tag);
  }

  /** The 32 bytes that were sent as the signature. */
  tag(): Buffer {
    return this.#tag;
  }

  protected describe(): string {
    return `${this.id}, key ${this.keyId}`;
  }
}

function matching(value: string, pattern: RegExp): string {
  if (pattern.test(value)) return value;
  throw new WebhookSignatureError();
}
