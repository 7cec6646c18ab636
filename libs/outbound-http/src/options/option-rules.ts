import { InvalidOptionsError } from '../errors';
import { readDuration } from './duration';
import { nearestName } from './nearest-name';

/** Whole milliseconds, up to an hour. */
export function duration(option: string, given: unknown, fallback: number, least: number): number {
  const value = given === undefined ? fallback : readDuration(given);
  if (value === undefined || value < least || value > 3_600_000) {
    throw invalid(option, `must be ${least} ms to 1 h`, given, "write milliseconds or a text like '10s'");
  }
  return Math.round(value);
}

export function flag(option: string, given: unknown, fallback: boolean): boolean {
  if (given === undefined || typeof given === 'boolean') {
    return given ?? fallback;
  }
  throw invalid(option, 'must be true or false', given, 'write one of them, without quotes');
}

/** Null is no value, and is not taken for a default: it is what a configuration gives for what it does not have. */
export function refuseUnknown(prefix: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const near = `${prefix}${nearestName(unknown, known)}`;
    throw new InvalidOptionsError(`option ${prefix}${unknown} is not known; the nearest known name is ${near}.`);
  }
  const [empty] = Object.entries(given).find(([, value]) => value === null) ?? [];
  if (empty !== undefined)
    throw invalid(`${prefix}${empty}`, 'must have a value', null, 'give it one, or leave it out');
}

/** @throws InvalidOptionsError for options that are no object at all */
export function requireRecord(options: unknown): void {
  if (isRecord(options)) return;
  throw new InvalidOptionsError('options must be an object; write { … }, or leave them out.');
}

export function invalid(option: string, rule: string, given: unknown, advice: string): InvalidOptionsError {
  return new InvalidOptionsError(`option ${option} ${rule}, got ${shown(given)}; ${advice}.`);
}

/** What was given; of an object or a function no more than that. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return 'a function';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
