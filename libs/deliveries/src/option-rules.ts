import { closest } from 'fastest-levenshtein';
import { milliseconds } from './delivery/duration';
import { DeliveriesOptionsError } from './errors';

// What options may be. Each rule throws a `DeliveriesOptionsError` of one sentence: option, rule, what was given, what to do.

/**
 * Null is no value, and is not taken for a default: it is what a configuration gives for what it does not have.
 * @throws DeliveriesOptionsError that names the nearest known option, or the one that is null
 */
export function refuseUnknown(subject: string, given: object, known: readonly string[]): void {
  if (!isObject(given)) {
    throw new DeliveriesOptionsError(`${subject}: options must be an object; got ${withoutText(given)}. Write { … }.`);
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new DeliveriesOptionsError(
      `${subject}: there is no option "${unknown}"; the nearest is "${closest(unknown, known)}". Known are: ${known.join(', ')}.`,
    );
  }
  const [empty] = Object.entries(given).find(([, value]) => value === null) ?? [];
  if (empty !== undefined) throw refused(subject, empty, 'must have a value', null, 'Give it one, or leave it out');
}

export function duration(subject: string, option: string, value: unknown, min: number, max: number): number {
  const ms = milliseconds(value);
  if (ms !== undefined && ms >= min && ms <= max) return ms;
  const rule = `must be a duration from ${min} ms to ${max} ms`;
  throw refused(subject, option, rule, value, "Write milliseconds or a string such as '10s', '5m', '1h' or '7d'");
}

export function count(subject: string, option: string, value: unknown, min: number, max: number): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  throw refused(subject, option, `must be a whole number from ${min} to ${max}`, value, 'Choose one in that range');
}

export function fraction(subject: string, option: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value <= 1) return value;
  throw refused(subject, option, 'must be a number above 0 and at most 1', value, 'Write 0.5 for a half');
}

export function flag(subject: string, option: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw refused(subject, option, 'must be true or false', value, 'Set it to one of them');
}

export function oneOf<T extends string>(subject: string, option: string, value: unknown, known: readonly T[]): T {
  const found = known.find((name) => name === value);
  if (found !== undefined) return found;
  throw refused(subject, option, `must be one of ${known.map(shown).join(', ')}`, value, 'Choose one of them');
}

/** Of a `DataSource`; one that is given itself is none. */
export function requireToken(subject: string, option: string, value: unknown): void {
  if ((typeof value === 'string' && value !== '') || typeof value === 'symbol' || typeof value === 'function') return;
  const rule = 'must be an injection token: a class, a text or a symbol';
  throw refused(subject, option, rule, value, "Write dataSource: getDataSourceToken('name')");
}

export function refused(
  subject: string,
  option: string,
  rule: string,
  got: unknown,
  advice: string,
): DeliveriesOptionsError {
  return new DeliveriesOptionsError(`${subject}: ${option} ${rule}; got ${shown(got)}. ${advice}.`);
}

export function requireObject(subject: string, option: string, value: unknown, advice: string): void {
  if (isObject(value)) return;
  throw new DeliveriesOptionsError(`${subject}: ${option} must be an object; got ${withoutText(value)}. ${advice}.`);
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Text in the place of an object may be an address with a password in it. */
const withoutText = (value: unknown): string => (typeof value === 'string' ? 'text' : shown(value));

/** What was given; of an object or a function no more than that, since it may hold a password. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return 'a function';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
