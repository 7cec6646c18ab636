import { closest } from 'fastest-levenshtein';
import { WebhookConfigurationError } from './errors';

/** @throws WebhookConfigurationError for an option that there is none; it names the nearest, and repeats no value */
export function requireKnown(subject: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null) {
    throw new WebhookConfigurationError(`${subject}: options must be an object. Write { … }.`);
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new WebhookConfigurationError(
    `${subject}: there is no option "${unknown}"; the nearest is "${closest(unknown, known)}". Known are: ${known.join(', ')}.`,
  );
}
