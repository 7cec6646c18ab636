import { deliveryStatuses, type DeliveryStatus } from '../../delivery/status';
import type { Duration } from '../../delivery/duration';
import { InvalidRequestError } from '../../errors';
import {
  isUuid,
  optionalDuration,
  optionalInstant,
  optionalText,
  refuseUnknownKeys,
  type Cursor,
} from '../check-request';
import type { Search } from './list.sql';
import type { Narrowing } from './matching.sql';

/** Which deliveries are meant: those that fit everything that is said. */
export interface DeliveryConditions {
  readonly status?: DeliveryStatus;
  /** The channel's name. */
  readonly channel?: string;
  readonly lane?: string;
  readonly orderingKey?: string;
  readonly destination?: string;
  /** Kind of the last error, such as `503` or `timeout`. */
  readonly error?: string;
  /** Created at this instant or later. */
  readonly createdAfter?: Date;
  /** Created before this instant. */
  readonly createdBefore?: Date;
  /** Created at least this long ago. */
  readonly olderThan?: Duration;
  /** Created at most this long ago. */
  readonly newerThan?: Duration;
  /** These, 1,000 at most. */
  readonly ids?: readonly string[];
}

/** The names of the conditions. */
export const conditionNames = [
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
  'ids',
] as const satisfies (keyof DeliveryConditions)[];

/** Conditions that were checked, with what `matching.sql.ts` makes of them. */
export interface Matching {
  readonly narrowing: Narrowing;
  /** Which pending ones must be gathered, if any: no index has them by age, so whether they are a crowd decides how to search. */
  readonly gathers: { readonly channel: string | null; readonly nothingElse: boolean } | undefined;
  /** $1 to $17. @param look rows to look at in one call, where no index finds exactly what is asked for */
  readonly parameters: (search: Search, look: number, from?: Cursor) => unknown[];
}

/** Only what an operation could change, of what was so at an instant. */
export interface Purpose {
  readonly operation: 'retry' | 'cancel';
  readonly statuses: readonly DeliveryStatus[];
  readonly asOf: Date | 'infinity';
  readonly revivable: readonly string[];
}

/** More than any page or cap: the index finds nothing but what fits. */
const unlimited = 1_000_000_000;

/** @throws InvalidRequestError */
export function matching(conditions: DeliveryConditions, purpose?: Purpose): Matching {
  const { status, ids } = conditions;
  if (status !== undefined && !deliveryStatuses.includes(status)) {
    throw new InvalidRequestError('status', `must be one of ${deliveryStatuses.join(', ')}`);
  }
  if (ids !== undefined && !(Array.isArray(ids) && ids.length <= 1_000 && ids.every(isUuid))) {
    throw new InvalidRequestError('ids', 'must be a list of at most 1000 ids of deliveries');
  }
  const statuses = (status === undefined ? (purpose?.statuses ?? deliveryStatuses) : [status]) as DeliveryStatus[];
  const narrowing = narrowingOf(conditions, statuses);
  const texts = (['channel', 'lane', 'orderingKey', 'destination', 'error'] as const).map((name) =>
    optionalText(conditions[name], name),
  );
  const values = [
    statuses,
    ...texts,
    optionalInstant(conditions.createdAfter, 'createdAfter'),
    optionalInstant(conditions.createdBefore, 'createdBefore'),
    optionalDuration(conditions.newerThan, 'newerThan'),
    optionalDuration(conditions.olderThan, 'olderThan'),
    ids ?? null,
    purpose?.operation ?? null,
    purpose?.asOf ?? null,
    purpose?.revivable ?? [],
  ];
  const exact = purpose === undefined && isExact(conditions, narrowing);
  const gathers = narrowing === 'none' && statuses.includes('pending');
  return {
    narrowing,
    gathers: gathers ? { channel: conditions.channel ?? null, nothingElse: statuses.length === 1 } : undefined,
    parameters: (search, look, from) => [
      ...values,
      from?.us ?? null,
      from?.id ?? null,
      exact && search !== 'walk' ? unlimited : look,
    ],
  };
}

/** The states in which an operation can be done. */
const possible = { retry: ['failed', 'cancelled'], cancel: ['pending', 'failed'] } as const;

/**
 * Checks the conditions of a bulk operation: without any it would be done to everything there is.
 * @throws InvalidRequestError
 */
export function requireConditions(conditions: DeliveryConditions, operation: keyof typeof possible): void {
  refuseUnknownKeys(conditions, conditionNames);
  if (!Object.hasOwn(possible, operation)) throw new InvalidRequestError('operation', 'must be retry or cancel');
  const states: readonly unknown[] = possible[operation];
  if (conditions.status !== undefined && !states.includes(conditions.status)) {
    throw new InvalidRequestError('status', `must be ${states.join(' or ')}: only those can be ${pastOf[operation]}`);
  }
  if (Object.values(conditions).some((value) => value !== undefined)) return;
  throw new InvalidRequestError('conditions', `must say which deliveries are meant, by ${conditionNames.join(', ')}`);
}

const pastOf = { retry: 'retried', cancel: 'cancelled' } as const;

/** The index that finds them: the one that leaves least to look through. */
function narrowingOf(conditions: DeliveryConditions, statuses: readonly DeliveryStatus[]): Narrowing {
  const only = (...some: DeliveryStatus[]): boolean => statuses.every((status) => some.includes(status));
  if (conditions.ids !== undefined) return 'ids';
  if (conditions.orderingKey !== undefined && only('pending', 'failed')) return 'key';
  if (conditions.destination !== undefined && only('failed')) return 'destination';
  if (conditions.lane !== undefined && only('failed')) return 'lane';
  return conditions.error === undefined ? 'none' : 'error';
}

/** Whether what an index finds always fits, so that no row is looked at in vain. */
function isExact(conditions: DeliveryConditions, narrowing: Narrowing): boolean {
  const served = {
    none: undefined,
    ids: 'ids',
    key: 'orderingKey',
    destination: 'destination',
    lane: 'lane',
    error: 'error',
  };
  return (['ids', 'orderingKey', 'destination', 'lane', 'error'] as const).every(
    (name) => conditions[name] === undefined || name === served[narrowing],
  );
}
