/**
 * Inserts the deliveries that a query of the caller's produces, and lists them in their event: one statement, however many.
 *
 * - `absent` gives names to the columns that the query may leave out: inside, a name means the query's own column if it has
 *   one, and the one of `absent` if not.
 * - The query is run once. What breaks a limit is counted before anything is inserted, and then nothing is.
 * - Ids are UUIDs of version 7 (RFC 9562, section 5.7), put together here, since PostgreSQL has a function for it from 18 on:
 *   48 bits of milliseconds over a random UUID, and the version.
 *
 * @param query has `first` parameters of its own
 * After them: event's id · channel · limits of destination (characters), payload (bytes), recipient (bytes), lane (characters)
 */
export const insertQuerySql = (schema: string, query: string, first: number): string => {
  const [event, channel, destination, payload, recipient, lane] = [1, 2, 3, 4, 5, 6].map((n) => `$${first + n}`);
  return `
WITH source AS MATERIALIZED (
  SELECT d.destination::text AS destination, d.payload::jsonb AS payload, d.recipient::jsonb AS recipient,
         coalesce(d.lane::text, '') AS lane, d.not_before::timestamptz AS not_before, d.deadline::timestamptz AS deadline
    FROM (SELECT NULL::jsonb AS recipient, NULL::text AS lane, NULL::timestamptz AS not_before,
                 NULL::timestamptz AS deadline) AS absent
   CROSS JOIN LATERAL (SELECT destination, payload, recipient, lane, not_before, deadline FROM (${query}
   ) AS given) AS d
), refused AS MATERIALIZED (
  SELECT path FROM (
    SELECT CASE WHEN destination IS NULL OR length(destination) NOT BETWEEN 1 AND ${destination}::integer THEN 'destination'
                WHEN payload IS NULL OR octet_length(payload::text) > ${payload}::integer THEN 'payload'
                WHEN octet_length(recipient::text) > ${recipient}::integer THEN 'recipient'
                WHEN length(lane) > ${lane}::integer THEN 'lane' END AS path
      FROM source) AS checked
   WHERE path IS NOT NULL
   LIMIT 1
), inserted AS (
  INSERT INTO ${schema}.deliveries (id, event_id, channel, destination, recipient, payload, due_at, deadline, lane, created_at)
  SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING
           substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6),
           52, 1), 53, 1), 'hex')::uuid,
         ${event}::uuid, ${channel}::text, destination, recipient, payload, greatest(clock_timestamp(), not_before), deadline,
         lane, clock_timestamp()
    FROM source
   WHERE NOT EXISTS (SELECT 1 FROM refused)
  RETURNING id, lane, due_at
), listed AS (
  UPDATE ${schema}.events e
     SET delivery_ids = e.delivery_ids || (SELECT array_agg(id) FROM inserted)
   WHERE e.id = ${event}::uuid AND EXISTS (SELECT 1 FROM inserted)
)
SELECT (SELECT path FROM refused) AS refused, count(*)::integer AS inserted,
       (count(*) FILTER (WHERE lane <> '' AND due_at <= clock_timestamp()))::integer AS due_in_lanes,
       (count(*) FILTER (WHERE lane = '' AND due_at <= clock_timestamp()))::integer AS due
  FROM inserted`;
};

/** Takes back what a refused call had recorded before it was refused. $1 ids of its events */
export const takeBackEventsSql = (schema: string): string => `
WITH own AS (SELECT id, delivery_ids FROM ${schema}.events WHERE id = ANY($1::uuid[])), deliveries AS (
  DELETE FROM ${schema}.deliveries WHERE id IN (SELECT unnest(delivery_ids) FROM own)
)
DELETE FROM ${schema}.events WHERE id IN (SELECT id FROM own)`;
