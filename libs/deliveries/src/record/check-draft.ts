import { validate, version } from 'uuid';
import type { DeliveryEvent } from '../delivery/delivery';
import type { DeliveryDraft } from '../delivery/draft';
import { InvalidDraftError } from '../errors';
import { checkedText, jsonText } from './check-json';

/** In bytes of JSON. */
export const payloadLimit = 256 * 1_024;
export const recipientLimit = 2 * 1_024;
/** In characters. */
export const destinationLimit = 500;
export const laneLimit = 255;

/** An event as it goes into the table. */
export interface CheckedEvent {
  readonly type: string;
  readonly payload: string;
  readonly actor: string | null;
}

/** A draft as it goes into the table: texts checked, JSON copied. */
export interface CheckedDraft {
  /** Null: not chosen yet. */
  readonly id: string | null;
  readonly channel: string;
  readonly destination: string;
  readonly recipient: string | null;
  readonly payload: string;
  readonly orderingKey: string | null;
  /** Empty for none. */
  readonly lane: string;
  readonly notBefore: Date | null;
  readonly deadline: Date | null;
  readonly dedupeKey: string | null;
  readonly dedupeDigest: string | null;
}

/** @throws InvalidDraftError, before any SQL */
export function checkEvent(event: DeliveryEvent): CheckedEvent {
  const subject = 'Event';
  const given = requireObject(event, 'event', subject);
  refuseUnknownKeys(given, ['type', 'payload', 'actor'], 'event', subject);
  return {
    type: requiredText(given['type'], 'event.type', 200, subject),
    payload: given['payload'] === undefined ? '{}' : jsonText(given['payload'], 'event.payload', payloadLimit, subject),
    actor: optionalText(given['actor'], 'event.actor', 200, subject),
  };
}

const draftKeys = [
  'id',
  'destination',
  'payload',
  'recipient',
  'orderingKey',
  'lane',
  'notBefore',
  'deadline',
  'dedupeKey',
  'dedupeDigest',
] as const satisfies (keyof DeliveryDraft)[];

/** What a channel's `deliveries` returned. @throws InvalidDraftError for anything but a list, for example a forgotten `return` */
export function checkDraftList(channel: string, drafts: unknown): readonly DeliveryDraft[] {
  if (Array.isArray(drafts)) return drafts as DeliveryDraft[];
  const found = drafts === null ? 'null' : typeof drafts;
  throw new InvalidDraftError(
    'deliveries()',
    `must return a list of drafts, and returned ${found}`,
    `Channel "${channel}"`,
  );
}

/** @throws InvalidDraftError, before any SQL */
export function checkDraft(channel: string, draft: DeliveryDraft): CheckedDraft {
  const subject = `Draft of channel "${channel}"`;
  const given = requireObject(draft, 'draft', subject);
  refuseUnknownKeys(given, draftKeys, 'draft', subject);
  const dedupeKey = optionalText(given['dedupeKey'], 'dedupeKey', 255, subject);
  const dedupeDigest = optionalText(given['dedupeDigest'], 'dedupeDigest', 128, subject);
  if (dedupeDigest !== null && dedupeKey === null) {
    throw new InvalidDraftError('dedupeDigest', 'must come with a dedupeKey', subject);
  }
  const orderingKey = optionalText(given['orderingKey'], 'orderingKey', 255, subject);
  const notBefore = optionalDate(given['notBefore'], 'notBefore', subject);
  if (orderingKey !== null && notBefore !== null) {
    throw new InvalidDraftError('notBefore', 'must not come with an orderingKey, whose order it would break', subject);
  }
  return {
    id: optionalId(given['id'], subject),
    channel,
    destination: requiredText(given['destination'], 'destination', destinationLimit, subject),
    recipient:
      given['recipient'] === undefined ? null : jsonText(given['recipient'], 'recipient', recipientLimit, subject),
    payload: jsonText(given['payload'], 'payload', payloadLimit, subject),
    orderingKey,
    lane: optionalText(given['lane'], 'lane', laneLimit, subject) ?? '',
    notBefore,
    deadline: optionalDate(given['deadline'], 'deadline', subject),
    dedupeKey,
    dedupeDigest,
  };
}

function requireObject(value: unknown, path: string, subject: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  const found = Array.isArray(value) ? 'a list' : value === null ? 'null' : typeof value;
  throw new InvalidDraftError(path, `must be an object, and is ${found}`, subject);
}

function refuseUnknownKeys(given: object, known: readonly string[], path: string, subject: string): void {
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  throw new InvalidDraftError(`${path}.${unknown}`, `is not known; known are ${known.join(', ')}`, subject);
}

function optionalText(value: unknown, path: string, limit: number, subject: string): string | null {
  return value === undefined || value === null ? null : requiredText(value, path, limit, subject);
}

function requiredText(value: unknown, path: string, limit: number, subject: string): string {
  const refuse = (at: string, rule: string): never => {
    throw new InvalidDraftError(at, rule, subject);
  };
  if (typeof value !== 'string') return refuse(path, `must be text, and is ${value === null ? 'null' : typeof value}`);
  if (value.length < 1 || value.length > limit) {
    return refuse(path, `must have 1 to ${limit} characters, and has ${value.length}`);
  }
  return checkedText(value, path, refuse);
}

function optionalId(value: unknown, subject: string): string | null {
  if (value === undefined || value === null) return null;
  const valid = typeof value === 'string' && validate(value) && version(value) === 7 && value === value.toLowerCase();
  if (valid) return value;
  throw new InvalidDraftError(
    'id',
    'must be a UUID of version 7 in lower case, such as v7() of the package uuid makes',
    subject,
  );
}

function optionalDate(value: unknown, path: string, subject: string): Date | null {
  if (value === undefined || value === null) return null;
  // PostgreSQL's timestamptz goes further than JavaScript's dates; the ISO form of years outside 0 to 9999 is not its own.
  const valid = value instanceof Date && value.getTime() >= 0 && value.getTime() < Date.UTC(10_000, 0);
  if (!valid) throw new InvalidDraftError(path, 'must be a valid Date between the years 1970 and 9999', subject);
  return new Date(value);
}
