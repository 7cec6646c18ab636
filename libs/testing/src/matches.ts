/** A part of what is there: the fields that are given must match, the others may be anything. Or a question. */
export type Match<T> = Part<T> | ((found: T) => boolean);

type Part<T> = T extends Date | readonly unknown[] | string | number | boolean | null | undefined
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Part<T[K]> }
    : T;

/** Whether `found` has all that `wanted` asks for. Lists are compared as a whole, item by item. */
export function matches<T>(found: T, wanted: Match<T> | undefined): boolean {
  if (wanted === undefined) return true;
  return typeof wanted === 'function' ? (wanted as (found: T) => boolean)(found) : hasPart(found, wanted);
}

function hasPart(found: unknown, wanted: unknown): boolean {
  if (wanted instanceof Date) return found instanceof Date && found.getTime() === wanted.getTime();
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(found) &&
      found.length === wanted.length &&
      wanted.every((item, index) => hasPart(found[index], item))
    );
  }
  if (typeof wanted !== 'object' || wanted === null) return Object.is(found, wanted);
  if (typeof found !== 'object' || found === null) return false;
  return Object.entries(wanted).every(([name, part]) => hasPart((found as Record<string, unknown>)[name], part));
}
