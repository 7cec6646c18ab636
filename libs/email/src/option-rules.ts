import { milliseconds } from 'nest-deliveries';
import { closest } from 'fastest-levenshtein';
import { EmailOptionsError } from './errors';

// What options may be. Each rule throws an `EmailOptionsError` of one sentence: option, rule, what to do.

export function text(option: string, value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw refused(option, `must be ${what}`, 'Leave it out for the default');
}

export function count(option: string, value: unknown, min: number, max: number): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  throw refused(option, `must be a whole number from ${min} to ${max}`, 'Choose one in that range', value);
}

export function duration(option: string, value: unknown, min: number, max: number): number {
  const ms = milliseconds(value);
  if (ms !== undefined && ms >= min && ms <= max) return ms;
  throw refused(
    option,
    `must be a duration from ${min} ms to ${max} ms`,
    "Write milliseconds or a string such as '10s'",
    value,
  );
}

/** Null is no value, and is not taken for a default: it is what a configuration gives for what it does not have. */
export function refuseUnknown(subject: string, given: unknown, known: readonly string[], advice: string): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new EmailOptionsError(`${subject} must be an object; got ${typeOf(given)}. ${advice}.`);
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new EmailOptionsError(
      `${subject}: there is no option "${unknown}"; the nearest is "${closest(unknown, known)}". Known are: ${known.join(', ')}.`,
    );
  }
  const [empty] = Object.entries(given).find(([, value]) => value === null) ?? [];
  if (empty === undefined) return;
  throw new EmailOptionsError(`${subject}: ${empty} must have a value; got null. Give it one, or leave it out.`);
}

/** @param got what was given, where it can be no secret; of most values it is told only of which type they are */
export function refused(option: string, rule: string, advice: string, got?: unknown): EmailOptionsError {
  const shown = typeof got === 'number' || typeof got === 'boolean' ? String(got) : typeOf(got);
  return new EmailOptionsError(
    `EmailModule: ${option} ${rule}${got === undefined ? '' : `; got ${shown}`}. ${advice}.`,
  );
}

const typeOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'string'
        ? 'text'
        : `something of type ${typeof value}`;
