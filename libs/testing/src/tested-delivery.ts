import type { DeliveryStatus } from 'nest-deliveries';
import type { DataSource } from 'typeorm';

/** A delivery as it stands in the tables. */
export interface TestedDelivery<Payload = unknown, Recipient = unknown> {
  readonly id: string;
  readonly eventId: string;
  readonly channel: string;
  readonly destination: string;
  readonly payload: Payload;
  readonly recipient: Recipient | null;
  readonly orderingKey: string | null;
  readonly lane: string | null;
  readonly dedupeKey: string | null;
  readonly status: DeliveryStatus;
  /** How many attempts began. */
  readonly attempts: number;
  /** A status code or the kind of an error; null after a success. */
  readonly error: string | null;
  readonly createdAt: Date;
  /** When it is, or was, due; of one that is being sent, when its lease ends. */
  readonly dueAt: Date;
  readonly deadline: Date | null;
  /** Undefined when clean-up deleted it. */
  readonly event: { readonly type: string; readonly payload: unknown; readonly actor: string | null } | undefined;
}

type Row = Omit<TestedDelivery, 'event'> & { eventType: string | null; eventPayload: unknown; actor: string | null };

/**
 * Deliveries in the order in which they were recorded.
 * @param channel default: of every channel
 */
export async function readDeliveries(
  dataSource: DataSource,
  schema: string,
  channel?: string,
): Promise<TestedDelivery[]> {
  const rows = await dataSource.query<Row[]>(
    `SELECT d.id, d.event_id AS "eventId", d.channel, d.destination, d.payload, d.recipient, d.ordering_key AS "orderingKey", nullif(d.lane, '') AS lane,
            d.dedupe_key AS "dedupeKey", d.status, d.attempts, d.last_error AS error, d.created_at AS "createdAt",
            d.due_at AS "dueAt", d.deadline, e.type AS "eventType", e.payload AS "eventPayload", e.actor
       FROM ${schema}.deliveries d LEFT JOIN ${schema}.events e ON e.id = d.event_id
      WHERE $1::text IS NULL OR d.channel = $1
      ORDER BY d.created_at, d.id`,
    [channel ?? null],
  );
  return rows.map(({ eventType, eventPayload, actor, ...delivery }) => ({
    ...delivery,
    event: eventType === null ? undefined : { type: eventType, payload: eventPayload, actor },
  }));
}
