import type { AttemptOutcome, DeliveryStatus } from '../delivery/status';

/** A delivery in a list: without its payload and its recipient. */
export interface DeliverySummary {
  readonly id: string;
  readonly eventId: string;
  readonly channel: string;
  readonly destination: string;
  readonly lane: string | null;
  readonly orderingKey: string | null;
  readonly status: DeliveryStatus;
  /** Being sent now, or its worker vanished and its lease has not been taken over yet. */
  readonly inFlight: boolean;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly createdAt: Date;
  /** When a worker may take it; while it is in flight, the end of its lease. */
  readonly dueAt: Date;
  readonly retriedAt: Date | null;
  readonly settledAt: Date | null;
  readonly deadline: Date | null;
}

/**
 * A page of deliveries, newest first: by creation and id. Where more than 5,000 pending ones are among those listed, by id alone,
 * which carries the millisecond in which it was made.
 */
export interface DeliveryPage {
  readonly deliveries: readonly DeliverySummary[];
  /** The `after` of the next page; undefined when this is the last. */
  readonly next: string | undefined;
  /**
   * The page is short, or empty, because enough was looked through for one call: everything back to this instant. Older ones
   * are on the next page. Null when the search did not end early. Happens with conditions that no index serves, and with
   * many pending ones.
   */
  readonly searchedTo: Date | null;
}

/** A delivery with all that is known of it. */
export interface DeliveryDetail extends DeliverySummary {
  readonly payload: unknown;
  readonly recipient: unknown;
  readonly crashes: number;
  /** Until when its last attempt may still reach the receiver: of one in flight, and of one that was cancelled in flight. */
  readonly leaseExpiresAt: Date | null;
  /** The attempts that did not simply succeed, from the first. */
  readonly attemptRows: readonly AttemptView[];
  /** What caused it; null when that was deleted by hand. */
  readonly event: EventView | null;
  /** What operators did to it, from the first. */
  readonly operations: readonly EventView[];
  /** The delivery of its ordering key that must end before this one is sent; null when nothing is in its way. */
  readonly blockedBy: BlockerView | null;
}

export interface AttemptView {
  readonly number: number;
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly outcome: AttemptOutcome;
  readonly error: string;
}

export interface EventView {
  readonly id: string;
  readonly type: string;
  readonly payload: unknown;
  readonly actor: string | null;
  readonly occurredAt: Date;
}

export interface BlockerView {
  readonly id: string;
  readonly status: DeliveryStatus;
  readonly inFlight: boolean;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly dueAt: Date;
}

export interface SummaryRow {
  readonly id: string;
  readonly event_id: string;
  readonly channel: string;
  readonly destination: string;
  readonly lane: string | null;
  readonly ordering_key: string | null;
  readonly status: DeliveryStatus;
  readonly in_flight: boolean;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly created_at: Date;
  readonly due_at: Date;
  readonly retried_at: Date | null;
  readonly settled_at: Date | null;
  readonly deadline: Date | null;
}

/** Times inside JSON come as text. */
type InJson<Row> = { [Key in keyof Row]: Row[Key] extends Date ? string : Row[Key] };

interface EventRow {
  readonly id: string;
  readonly type: string;
  readonly payload: unknown;
  readonly actor: string | null;
  readonly occurred_at: Date;
}

export interface DetailRow extends SummaryRow {
  readonly payload: unknown;
  readonly recipient: unknown;
  readonly crashes: number;
  readonly lease_expires_at: Date | null;
  readonly attempt_rows: readonly {
    readonly number: number;
    readonly started_at: string;
    readonly ended_at: string;
    readonly outcome: AttemptOutcome;
    readonly error: string;
  }[];
  readonly event: InJson<EventRow> | null;
  readonly operations: readonly InJson<EventRow>[];
  readonly blocked_by: InJson<
    Pick<SummaryRow, 'id' | 'status' | 'in_flight' | 'attempts' | 'last_error' | 'due_at'>
  > | null;
}

export const summaryOf = (row: SummaryRow): DeliverySummary => ({
  id: row.id,
  eventId: row.event_id,
  channel: row.channel,
  destination: row.destination,
  lane: row.lane || null,
  orderingKey: row.ordering_key,
  status: row.status,
  inFlight: row.in_flight,
  attempts: row.attempts,
  lastError: row.last_error,
  createdAt: row.created_at,
  dueAt: row.due_at,
  retriedAt: row.retried_at,
  settledAt: row.settled_at,
  deadline: row.deadline,
});

export const detailOf = (row: DetailRow): DeliveryDetail => ({
  ...summaryOf(row),
  payload: row.payload,
  recipient: row.recipient,
  crashes: row.crashes,
  leaseExpiresAt: row.lease_expires_at,
  attemptRows: row.attempt_rows.map(({ number, started_at, ended_at, outcome, error }) => ({
    number,
    startedAt: new Date(started_at),
    endedAt: new Date(ended_at),
    outcome,
    error,
  })),
  event: row.event && eventOf(row.event),
  operations: row.operations.map(eventOf),
  blockedBy: row.blocked_by && {
    id: row.blocked_by.id,
    status: row.blocked_by.status,
    inFlight: row.blocked_by.in_flight,
    attempts: row.blocked_by.attempts,
    lastError: row.blocked_by.last_error,
    dueAt: new Date(row.blocked_by.due_at),
  },
});

const eventOf = ({ id, type, payload, actor, occurred_at }: InJson<EventRow>): EventView => ({
  id,
  type,
  payload,
  actor,
  occurredAt: new Date(occurred_at),
});
