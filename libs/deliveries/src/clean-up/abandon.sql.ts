import { unfinished } from '../order/unfinished';

/*
 * Abandonment of keys, in one READ COMMITTED transaction, in this order. Each statement sees what had committed before it
 * began; the proof is in the README beside this file.
 */

/**
 * Locks failures that have held their keys back for longer than they are kept, oldest first. An operator who retries or
 * cancels one of them waits for the transaction and then finds it gone; one that an operator holds is passed over.
 *
 * $1 channel · $2 ms since it failed · $3 µs since 1970 and $4 id of the failure that the last batch ended with · $5 keys at most
 */
export const lockFailuresSql = (schema: string): string => `
SELECT d.id, d.ordering_key, d.ordinal, (extract(epoch FROM d.settled_at) * 1000000)::float8 AS failed_us
  FROM ${schema}.deliveries d
 WHERE d.channel = $1 AND d.status = 'failed' AND d.settled_at <= now() - $2::float8 * interval '1 ms'
   AND d.ordering_key IS NOT NULL
   AND (d.settled_at, d.id) > (timestamptz 'epoch' + $3::float8 * interval '1 us', $4::uuid)
 ORDER BY d.settled_at, d.id
 LIMIT $5
   FOR UPDATE SKIP LOCKED`;

/**
 * Locks the rows of their keys, as a recorder does. A key under which an open transaction has recorded is not in the answer.
 *
 * $1 channel · $2 keys
 */
export const lockOrderingsSql = (schema: string): string => `
SELECT o.ordering_key
  FROM ${schema}.delivery_orderings o
 WHERE o.channel = $1 AND o.ordering_key = ANY($2::text[])
   FOR UPDATE SKIP LOCKED`;

/**
 * How many deliveries wait behind each failure; stops counting at the key with which the sum reaches $5.
 *
 * $1 channel · $2 ids of failures, $3 their keys and $4 their ordinals · $5 rows
 */
export const countWaitingSql = (schema: string): string => `
WITH RECURSIVE failure AS (
  SELECT * FROM unnest($2::uuid[], $3::text[], $4::bigint[]) WITH ORDINALITY AS f (id, ordering_key, ordinal, n)
), counted AS (
  SELECT 0::bigint AS n, NULL::uuid AS id, 0::bigint AS waiting, 0::bigint AS total
  UNION ALL
  SELECT f.n, f.id, behind.waiting, counted.total + behind.waiting + 1
    FROM counted JOIN failure f ON f.n = counted.n + 1
   CROSS JOIN LATERAL (
      SELECT count(*) AS waiting
        FROM ${schema}.deliveries d
       WHERE d.channel = $1 AND d.ordering_key = f.ordering_key AND d.ordinal > f.ordinal
         AND ${unfinished('d')} AND d.status = 'pending') behind
   WHERE counted.total < $5
)
SELECT id, waiting::integer FROM counted WHERE n > 0 ORDER BY n`;

/**
 * Cancels what waits behind each failure, deletes the failure and remembers it. A key is abandoned whole: one of whose
 * deliveries not every one could be locked at once is left to the next pass.
 *
 * $1 channel · $2 ids of failures, $3 their keys, $4 their ordinals, $5 how many wait behind each, $6 ids for the events
 */
export const abandonSql = (schema: string): string => `
WITH failure AS (
  SELECT * FROM unnest($2::uuid[], $3::text[], $4::bigint[], $5::integer[], $6::uuid[])
             AS f (id, ordering_key, ordinal, waiting, event_id)
), held AS MATERIALIZED (
  SELECT d.id, f.id AS failure_id
    FROM failure f JOIN ${schema}.deliveries d
      ON d.channel = $1 AND d.ordering_key = f.ordering_key AND d.ordinal > f.ordinal
     AND ${unfinished('d')} AND d.status = 'pending' AND d.claim_token IS NULL
     FOR UPDATE OF d SKIP LOCKED
), whole AS MATERIALIZED (
  SELECT f.id, f.event_id, f.waiting
    FROM failure f LEFT JOIN held ON held.failure_id = f.id
   GROUP BY f.id, f.event_id, f.waiting
  HAVING count(held.id) = f.waiting
), cancelled AS (
  UPDATE ${schema}.deliveries d
     SET status = 'cancelled', settled_at = clock_timestamp(), last_error = 'abandoned'
   WHERE d.id = ANY (ARRAY (SELECT held.id FROM held JOIN whole ON whole.id = held.failure_id))
  RETURNING d.id
), deleted AS (
  DELETE FROM ${schema}.deliveries d WHERE d.id = ANY (ARRAY (SELECT id FROM whole)) RETURNING d.id
), remembered AS (
  INSERT INTO ${schema}.events (id, type, payload, actor, delivery_id, audit, occurred_at)
  SELECT event_id, 'deliveries_abandoned', jsonb_build_object('channel', $1::text, 'cancelled', waiting), 'clean-up', id,
         true, clock_timestamp()
    FROM whole
)
SELECT (SELECT count(*) FROM deleted)::integer AS keys, (SELECT count(*) FROM cancelled)::integer AS cancelled`;
