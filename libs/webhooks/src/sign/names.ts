import { WebhookInputError } from '../errors';

const namespacePattern = /^[A-Za-z0-9._:-]{1,128}$/;
/** Kinds of events, such as `invoice.ready`. */
export const kindPattern = /^[A-Za-z0-9._:-]{1,128}$/;
const eventKeyPattern = /^[A-Za-z0-9._:/-]{1,255}$/;
/** Names of keys, which receivers see. */
export const keyIdPattern = /^[A-Za-z0-9._-]{1,64}$/;
/** Ids of messages on the wire. */
export const messageIdPattern = /^msg_[0-9a-f]{32}$/;

/** @throws WebhookInputError */
export const checkNamespace = (value: unknown): string =>
  checked(value, namespacePattern, 'namespace', '1 to 128 of A-Z a-z 0-9 . _ : -');

/** @throws WebhookInputError */
export const checkKind = (value: unknown): string =>
  checked(value, kindPattern, 'event kind', '1 to 128 of A-Z a-z 0-9 . _ : -');

/** @throws WebhookInputError */
export const checkEventKey = (value: unknown): string =>
  checked(value, eventKeyPattern, 'event key', '1 to 255 of A-Z a-z 0-9 . _ : / -');

/** @throws WebhookInputError */
export const checkKeyId = (value: unknown, subject = 'signing key ID'): string =>
  checked(value, keyIdPattern, subject, '1 to 64 of A-Z a-z 0-9 . _ -');

/** @throws WebhookInputError */
export const checkWorker = (value: unknown): string =>
  checked(value, namespacePattern, 'worker', '1 to 128 of A-Z a-z 0-9 . _ : -');

/** The id on the wire of a delivery's UUID. */
export const messageIdOf = (deliveryId: string): string => `msg_${deliveryId.replaceAll('-', '')}`;

/** The delivery's UUID. @throws WebhookInputError */
export function deliveryIdOf(messageId: unknown): string {
  const hex = checked(messageId, messageIdPattern, 'message id', 'msg_ and 32 hexadecimal digits').slice(4);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

function checked(value: unknown, pattern: RegExp, subject: string, rule: string): string {
  if (typeof value === 'string' && pattern.test(value)) return value;
  throw new WebhookInputError(subject, rule);
}
