import { closest } from 'fastest-levenshtein';
import { milliseconds } from '../delivery/duration';
import { InvalidRequestError } from '../errors';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const isUuid = (value: unknown): value is string => typeof value === 'string' && uuid.test(value);

/** @throws InvalidRequestError that names the nearest key that is known */
export function refuseUnknownKeys(given: object, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null)
    throw new InvalidRequestError('what is asked for', 'must be an object');
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  if (known.length === 0) throw new InvalidRequestError(unknown, 'is not known here');
  const rule = `is not known; the nearest is ${closest(unknown, known)}. Known are ${known.join(', ')}`;
  throw new InvalidRequestError(unknown, rule);
}

/** How many a page or a call takes at most. @throws InvalidRequestError */
export function checkLimit(limit: unknown, byDefault: number, most: number): number {
  if (limit === undefined) return byDefault;
  if (Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= most) return limit as number;
  throw new InvalidRequestError('limit', `must be a whole number from 1 to ${most}`);
}

/** Where a page begins: after the row of this instant, in µs since 1970, and id. */
export interface Cursor {
  readonly us: string;
  readonly id: string;
  /** The page before was in the order of ids, and so are those that follow. */
  readonly walked?: boolean;
}

export const writtenCursor = ({ us, id, walked }: Cursor): string => `${us}_${id}${walked ? '_walked' : ''}`;

/** @throws InvalidRequestError */
export function readCursor(after: unknown): Cursor | undefined {
  if (after === undefined) return undefined;
  const [us, id, ...rest] = typeof after === 'string' ? after.split('_') : [];
  const walked = rest.length === 1 && rest[0] === 'walked';
  if (us !== undefined && /^-?\d{1,16}$/.test(us) && isUuid(id) && (walked || rest.length === 0))
    return { us, id, walked };
  throw new InvalidRequestError('after', 'must be the next of another page');
}

/** @throws InvalidRequestError */
export function optionalInstant(value: unknown, path: string): Date | null {
  if (value === undefined) return null;
  // PostgreSQL's calendar begins in 4713 BC; JavaScript's years of six digits end later than anybody needs.
  if (value instanceof Date && value.getTime() >= -6e13 && value.getTime() < 8.64e15) return value;
  throw new InvalidRequestError(path, 'must be a valid Date');
}

/** The instant that an ISO 8601 text names, if its day is in the calendar: a Date would take the 31st of February for the 3rd of March. */
export function instantIn(text: string): Date | undefined {
  const day = text.slice(0, 10);
  const [at, start] = [new Date(text), new Date(day)];
  const isDay = !Number.isNaN(start.getTime()) && start.toISOString().startsWith(day);
  return isDay && !Number.isNaN(at.getTime()) ? at : undefined;
}

/** @throws InvalidRequestError */
export function actorOf(options: { readonly actor: string }): string {
  const { actor } = Object(options) as { actor?: unknown };
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

/** Text, or null where nothing was given. @throws InvalidRequestError */
export function optionalText(value: unknown, path: string): string | null {
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

/** True or false, and false where nothing was given. @throws InvalidRequestError */
export function optionalFlag(value: unknown, path: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  throw new InvalidRequestError(path, 'must be true or false');
}

/** A duration in ms, or null where nothing was given. @throws InvalidRequestError */
export function optionalDuration(value: unknown, path: string): number | null {
  if (value === undefined) return null;
  const ms = milliseconds(value);
  // Above it, the subtraction from now would leave PostgreSQL's calendar.
  if (ms === undefined || ms > 1_000 * 365 * 86_400_000) {
    throw new InvalidRequestError(path, "must be milliseconds or a string such as '10s', '1h' or '7d'");
  }
  return ms;
}
