import { closest } from 'fastest-levenshtein';

/** The known name that was most likely meant: one that begins with what was given, else the one with the fewest slips. */
export function nearestName(given: string, known: readonly string[]): string {
  return known.find((name) => name.toLowerCase().startsWith(given.toLowerCase())) ?? closest(given, known);
}
