import { deliveryStatuses, type DeliveryStatus } from '../delivery/status';
import { milliseconds, type Duration } from '../delivery/duration';
import { InvalidRequestError } from '../errors';

/** Which deliveries are meant: those that fit everything that is said. */
export interface DeliveryConditions {
  readonly status?: DeliveryStatus;
  /** The channel's name. */
  readonly channel?: string;
  readonly lane?: string;
  readonly orderingKey?: string;
  readonly destination?: string;
  /** Kind of the last error, such as `503` or `timeout`. */
  readonly error?: string;
  /** Created at this instant or later. */
  readonly createdAfter?: Date;
  /** Created before this instant. */
  readonly createdBefore?: Date;
  /** Created at least this long ago. */
  readonly olderThan?: Duration;
  /** Created at most this long ago. */
  readonly newerThan?: Duration;
  /** These, 1,000 at most. */
  readonly ids?: readonly string[];
}

/** Which deliveries `list` gives, and which page of them. */
export interface DeliveryFilter extends DeliveryConditions {
  /** Deliveries on a page, 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

const filterKeys = [
  'status',
  'channel',
  'orderingKey',
  'destination',
  'error',
  'olderThan',
  'newerThan',
  'limit',
  'after',
] as const satisfies (keyof DeliveryFilter)[];

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const isUuid = (value: unknown): value is string => typeof value === 'string' && uuid.test(value);

/** The parameters of the list statement, and the size of a page. @throws InvalidRequestError */
export function listParameters(filter: DeliveryFilter): { values: unknown[]; limit: number } {
  const unknown = Object.keys(filter).find((key) => !(filterKeys as readonly string[]).includes(key));
  if (unknown !== undefined) throw new InvalidRequestError(unknown, `is not known; known are ${filterKeys.join(', ')}`);
  const { status, limit = 100 } = filter;
  if (status !== undefined && !deliveryStatuses.includes(status)) {
    throw new InvalidRequestError('status', `must be one of ${deliveryStatuses.join(', ')}`);
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) {
    throw new InvalidRequestError('limit', 'must be a whole number from 1 to 1000');
  }
  const cursor = cursorOf(filter.after);
  const values = [
    status ?? null,
    optionalText(filter.channel, 'channel'),
    optionalText(filter.orderingKey, 'orderingKey'),
    optionalText(filter.destination, 'destination'),
    optionalText(filter.error, 'error'),
    optionalDuration(filter.olderThan, 'olderThan'),
    optionalDuration(filter.newerThan, 'newerThan'),
    cursor?.createdAt ?? null,
    cursor?.id ?? null,
    // One more than the page holds says whether there is another page.
    limit + 1,
  ];
  return { values, limit };
}

/** Where the next page begins, for the `after` of a filter. */
export const cursorAfter = (createdUs: string, id: string): string => `${createdUs}_${id}`;

function cursorOf(after: unknown): { createdAt: string; id: string } | undefined {
  if (after === undefined) return undefined;
  const [createdAt, id, ...rest] = typeof after === 'string' ? after.split('_') : [];
  if (createdAt !== undefined && /^\d{1,16}$/.test(createdAt) && isUuid(id) && rest.length === 0)
    return { createdAt, id };
  throw new InvalidRequestError('after', 'must be the next of another page');
}

/** @throws InvalidRequestError */
export function checkActor(actor: unknown): string {
  const rule = 'must say who does this, in 1 to 200 characters';
  if (typeof actor !== 'string' || actor.length < 1 || actor.length > 200) throw new InvalidRequestError('actor', rule);
  return checkText(actor, 'actor');
}

/**
 * What a purge looks for, as JSON. Containment makes every empty object or list a match for all that there is, and
 * JSON.stringify makes one of a property that is undefined: both are refused.
 * @throws InvalidRequestError
 */
export function recipientJson(recipient: unknown): string {
  requireConcrete(recipient, 'recipient');
  return JSON.stringify(recipient);
}

function requireConcrete(value: unknown, path: string): void {
  if (typeof value === 'string') return void checkText(value, path);
  if (value === null || typeof value === 'boolean' || Number.isFinite(value)) return;
  const isPlain =
    typeof value === 'object' && (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype);
  if (!isPlain) throw new InvalidRequestError(path, 'must be JSON, and nothing in it undefined');
  const entries = Object.entries(value as object);
  if (entries.length === 0) throw new InvalidRequestError(path, 'must not be empty: that would be everybody');
  for (const [key, inner] of entries) {
    checkText(key, path);
    requireConcrete(inner, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`);
  }
}

function optionalText(value: unknown, path: string): string | null {
  if (value === undefined) return null;
  if (typeof value !== 'string') throw new InvalidRequestError(path, 'must be text');
  return checkText(value, path);
}

/** PostgreSQL takes neither, and would end the transaction. */
function checkText(value: string, path: string): string {
  if (value.includes('\0') || /\p{Surrogate}/u.test(value)) {
    throw new InvalidRequestError(path, 'must not hold NUL or half of a surrogate pair');
  }
  return value;
}

function optionalDuration(value: unknown, path: string): number | null {
  if (value === undefined) return null;
  const ms = milliseconds(value);
  // Above it, the subtraction from now would leave PostgreSQL's calendar.
  if (ms === undefined || ms > 1_000 * 365 * 86_400_000) {
    throw new InvalidRequestError(path, "must be milliseconds or a string such as '10s', '1h' or '7d'");
  }
  return ms;
}
