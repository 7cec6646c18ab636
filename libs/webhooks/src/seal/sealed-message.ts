import type { WebhookKeyring, Sealed } from './keyring';

/** What is sent: never stored but sealed. */
export interface Message {
  readonly kind: string;
  readonly body: Buffer;
}

/** Binds a message to its channel, which is its namespace's own, and to its delivery. */
const place = (channel: string, deliveryId: string): string[] => ['message', channel, deliveryId];

export function sealMessage(
  keyring: WebhookKeyring,
  channel: string,
  deliveryId: string,
  kind: string,
  body: Uint8Array,
): Sealed {
  // A kind has 128 characters of ASCII at most: one byte says how many.
  const plain = Buffer.concat([Buffer.from([kind.length]), Buffer.from(kind, 'latin1'), body]);
  return keyring.seal(place(channel, deliveryId), plain);
}

/** @throws SealBrokenError */
export function openMessage(keyring: WebhookKeyring, channel: string, deliveryId: string, sealed: unknown): Message {
  const plain = keyring.open(place(channel, deliveryId), sealed);
  const start = 1 + plain[0]!;
  return { kind: plain.toString('latin1', 1, start), body: plain.subarray(start) };
}
