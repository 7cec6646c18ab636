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

export function refuseUnknown(prefix: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const near = `${prefix}${nearestName(unknown, known)}`;
    throw new InvalidOptionsError(`option ${prefix}${unknown} is not known; the nearest known name is ${near}.`);
  }
}

export function invalid(option: string, rule: string, given: unknown, advice: string): InvalidOptionsError {
  return new InvalidOptionsError(`option ${option} ${rule}, got ${JSON.stringify(given) ?? 'undefined'}; ${advice}.`);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
