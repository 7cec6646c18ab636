import { InvalidRequestError } from '../../../errors';
import { instantIn } from '../../check-request';

type Given = Readonly<Record<string, unknown>>;

const instants = ['createdAfter', 'createdBefore', 'asOf', 'until'];
const zoned = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * The query of a request in the words of `DeliveryOperations`, which refuses what it does not know. A form sends what was left
 * empty as well: that is as good as not given.
 *
 * @throws InvalidRequestError
 */
export function readQuery(query: unknown): Record<string, never> {
  const given = Object.entries(query as Given).filter(([, value]) => value !== '');
  return Object.fromEntries(given.map(([name, value]) => [name, readText(name, value)])) as Record<string, never>;
}

function readText(name: string, value: unknown): unknown {
  if (typeof value !== 'string') throw new InvalidRequestError(name, 'must be given once');
  if (name === 'ids') return value.split(',');
  if (name === 'limit') return /^\d{1,9}$/.test(value) ? Number(value) : value;
  return instants.includes(name) ? instantOf(name, value) : value;
}

/**
 * A JSON body in the words of `DeliveryOperations`: an object, with instants in the place of texts.
 * @throws InvalidRequestError
 */
export function readBody(body: unknown): Record<string, never> {
  // Express gives undefined for an empty body.
  const given = objectOf('body', body ?? {});
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, instants.includes(name) ? instantOf(name, value) : value]),
  ) as Record<string, never>;
}

/** The same, and its `conditions` apart. @throws InvalidRequestError */
export function readBulkBody(body: unknown): { conditions: Record<string, never>; options: Record<string, never> } {
  const { conditions = {}, ...options } = readBody(body);
  return { conditions: readBody(objectOf('conditions', conditions)), options };
}

function objectOf(name: string, value: unknown): Given {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Given;
  throw new InvalidRequestError(name, 'must be a JSON object');
}

function instantOf(name: string, value: unknown): Date {
  const at = typeof value === 'string' && zoned.test(value) ? instantIn(value) : undefined;
  if (at) return at;
  throw new InvalidRequestError(name, 'must be an instant such as 2026-03-01T08:30:00Z');
}
