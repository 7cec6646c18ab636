import { closest } from 'fastest-levenshtein';
import { WebhookConfigurationError } from './errors';

/**
 * Null is no value, and is not taken for a default: it is what a configuration gives for what it does not have.
 * @throws WebhookConfigurationError for an option that there is none, or that is null; it names the nearest, and repeats no value
 */
export function requireKnown(subject: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new WebhookConfigurationError(`${subject}: options must be an object. Write { … }.`);
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new WebhookConfigurationError(
      `${subject}: there is no option "${unknown}"; the nearest is "${closest(unknown, known)}". Known are: ${known.join(', ')}.`,
    );
  }
  const [empty] = Object.entries(given).find(([, value]) => value === null) ?? [];
  if (empty === undefined) return;
  throw new WebhookConfigurationError(
    `${subject}: ${empty} must have a value; got null. Give it one, or leave it out.`,
  );
}

/** @throws WebhookConfigurationError for anything that is not of the class */
export function requireMade<T>(
  subject: string,
  option: string,
  given: unknown,
  made: (abstract new (...args: never[]) => T) & { readonly name: string },
): asserts given is T {
  if (given instanceof made) return;
  throw new WebhookConfigurationError(
    `${subject}: ${option} must be a ${made.name}. Write ${option}: new ${made.name}(…).`,
  );
}

/**
 * @param what is in the list, in words
 * @throws WebhookConfigurationError for anything but a list of such things; it repeats none of them
 */
export function requireList<T>(
  subject: string,
  option: string,
  given: unknown,
  fits: (each: unknown) => each is T,
  what: string,
): readonly T[] {
  if (Array.isArray(given) && given.every(fits)) return given;
  throw new WebhookConfigurationError(`${subject}: ${option} must be a list of ${what}. Make each with its class.`);
}

/** A number, or of anything else its type. */
export const shownNumber = (given: unknown): string =>
  typeof given === 'number' ? String(given) : given === null ? 'null' : `something of type ${typeof given}`;
