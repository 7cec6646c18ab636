import type { Ending } from './retention';

/** What a clean-up pass did. */
export interface CleanUpReport {
  /** Deliveries deleted, by how they had ended; a failure that held its key is counted under `abandoned`. */
  readonly deleted: Readonly<Record<Ending, number>>;
  /** Keys abandoned, each with the failure that held it deleted, and the deliveries cancelled that waited behind. */
  readonly abandoned: { readonly keys: number; readonly cancelled: number };
  /** Events deleted to which no delivery referred any more. */
  readonly events: number;
  /** Audit events deleted. */
  readonly auditEvents: number;
  /** Rows of ordering keys deleted under which nothing waited. */
  readonly orderings: number;
  /** False when it ended early: another process was cleaning up, or this one stops. */
  readonly complete: boolean;
}

/** The same while it grows. */
export interface CleanUpTally {
  deleted: Record<Ending, number>;
  abandoned: { keys: number; cancelled: number };
  events: number;
  auditEvents: number;
  orderings: number;
}

export const emptyTally = (): CleanUpTally => ({
  deleted: { succeeded: 0, failed: 0, cancelled: 0 },
  abandoned: { keys: 0, cancelled: 0 },
  events: 0,
  auditEvents: 0,
  orderings: 0,
});

export function addTo(sum: CleanUpTally, { deleted, abandoned, events, auditEvents, orderings }: CleanUpTally): void {
  sum.deleted.succeeded += deleted.succeeded;
  sum.deleted.failed += deleted.failed;
  sum.deleted.cancelled += deleted.cancelled;
  sum.abandoned.keys += abandoned.keys;
  sum.abandoned.cancelled += abandoned.cancelled;
  sum.events += events;
  sum.auditEvents += auditEvents;
  sum.orderings += orderings;
}

/** The counts that are not zero, in words; empty when all are. */
export function inWords({ deleted, abandoned, events, auditEvents, orderings }: CleanUpTally): string {
  const counts: [number, string][] = [
    [deleted.succeeded, 'succeeded deliveries deleted'],
    [deleted.failed, 'failed deliveries deleted'],
    [deleted.cancelled, 'cancelled deliveries deleted'],
    [abandoned.keys, 'keys abandoned'],
    [abandoned.cancelled, 'deliveries cancelled with them'],
    [events, 'events deleted'],
    [auditEvents, 'audit events deleted'],
    [orderings, 'rows of idle keys deleted'],
  ];
  return counts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${what}`)
    .join(', ');
}
