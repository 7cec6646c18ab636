import { InvalidRequestError } from '../../../errors';
import { instantIn } from '../../check-request';
import type { DeliveryConditions } from '../../match/conditions';
import type { DeliveryFilter } from '../../match/delivery-finder';

/** What an address may say about which deliveries are meant, besides `id`, which may stand in it more than once. */
const conditionKeys = [
  'status',
  'channel',
  'lane',
  'orderingKey',
  'destination',
  'error',
  'createdAfter',
  'createdBefore',
  'olderThan',
  'newerThan',
] as const satisfies (keyof DeliveryConditions)[];

/**
 * The conditions in an address or a form. What is not known is refused, and not passed over: without a misspelt condition, a
 * bulk operation would reach more than was meant.
 *
 * @param others keys that may stand beside them
 * @throws InvalidRequestError
 */
export function conditionsOf(query: URLSearchParams, others: readonly string[] = []): DeliveryConditions {
  const conditions: Record<string, unknown> = {};
  for (const key of new Set(query.keys())) {
    // Boxes of a list are separate values, the form that confirms sends one: parsers of forms have limits for lists.
    if (key === 'id') conditions.ids = query.getAll('id').flatMap((ids) => ids.split(','));
    else if (isConditionKey(key)) {
      const value = onlyOne(query, key);
      // A form sends what was left empty as well.
      if (value !== '')
        conditions[key] = key === 'createdAfter' || key === 'createdBefore' ? instantOf(key, value) : value;
    } else if (!others.includes(key)) throw unknownKey(key, [...conditionKeys, 'id', ...others]);
  }
  return conditions;
}

/** The conditions, and where the page begins. @throws InvalidRequestError */
export function filterOf(query: URLSearchParams, others: readonly string[] = []): DeliveryFilter {
  const conditions = conditionsOf(query, ['after', ...others]);
  const after = onlyOne(query, 'after');
  return after === '' ? conditions : { ...conditions, after };
}

/** The value of a key that may stand there once; empty when it is not there. @throws InvalidRequestError */
export function onlyOne(query: URLSearchParams, key: string): string {
  const values = query.getAll(key);
  if (values.length > 1) throw new InvalidRequestError(key, 'must not be given twice');
  return values[0] ?? '';
}

/** @throws InvalidRequestError for a key that is not among them */
export function refuseUnknownKeys(query: URLSearchParams, known: readonly string[]): void {
  const unknown = [...query.keys()].find((key) => !known.includes(key));
  if (unknown !== undefined) throw unknownKey(unknown, known);
}

const unknownKey = (key: string, known: readonly string[]): InvalidRequestError =>
  new InvalidRequestError(
    key,
    known.length === 0 ? 'is not known here' : `is not known; known are ${known.join(', ')}`,
  );

const isConditionKey = (key: string): key is (typeof conditionKeys)[number] =>
  (conditionKeys as readonly string[]).includes(key);

/** A date, or a date and a time; in UTC, also where no zone is said, which is how browsers send a field for a time. */
function instantOf(key: string, value: string): Date {
  const isDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z?)?$/.test(value);
  const at = isDate ? instantIn(value.includes('T') && !value.endsWith('Z') ? `${value}Z` : value) : undefined;
  if (at) return at;
  throw new InvalidRequestError(key, 'must be a time in UTC such as 2026-03-01T08:30');
}
