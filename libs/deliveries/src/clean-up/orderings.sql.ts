import { unfinished } from '../order/unfinished';

/*
 * The rows of ordering keys under which nothing waits go in two steps of one READ COMMITTED transaction: the statement that
 * deletes sees what had committed before the row was locked. In one statement, a recorder that committed between its
 * snapshot and the lock would go unseen.
 */

/**
 * Walks on through the keys. By primary key and not by age: an index on the time of the last record would be written at each
 * record.
 *
 * $1 channel and $2 key after which to begin · $3 rows at most · $4 ms without a record
 */
export const pageOfOrderingsSql = (schema: string): string => `
SELECT o.channel, o.ordering_key, o.last_recorded_at <= now() - $4::float8 * interval '1 ms' AS idle
  FROM ${schema}.delivery_orderings o
 WHERE (o.channel, o.ordering_key) > ($1, $2)
 ORDER BY o.channel, o.ordering_key
 LIMIT $3`;

/**
 * Locks the rows of keys under which nothing was recorded for $3 ms, and whose last ordinal is as far behind the clock, at which a
 * key that comes back starts. A row that a recorder holds is passed over.
 *
 * $1 channel · $2 keys · $3 ms
 */
export const lockIdleOrderingsSql = (schema: string): string => `
SELECT o.ordering_key
  FROM ${schema}.delivery_orderings o
 WHERE o.channel = $1 AND o.ordering_key = ANY ($2::text[])
   AND o.last_recorded_at <= now() - $3::float8 * interval '1 ms'
   AND o.last_ordinal <= (extract(epoch FROM now()) * 1000000)::bigint - ($3::float8 * 1000)::bigint
   FOR UPDATE SKIP LOCKED`;

/**
 * Deletes locked rows whose keys have nothing unfinished. What ended may still be there: an ordered delivery that succeeded or
 * was cancelled never comes back, and whatever is recorded under the key later gets a higher ordinal.
 *
 * $1 channel · $2 keys
 */
export const deleteOrderingsSql = (schema: string): string => `
WITH deleted AS (
  DELETE FROM ${schema}.delivery_orderings o
   WHERE o.channel = $1 AND o.ordering_key = ANY ($2::text[])
     AND NOT EXISTS (
       SELECT FROM ${schema}.deliveries d
        WHERE d.channel = o.channel AND d.ordering_key = o.ordering_key AND ${unfinished('d')})
  RETURNING o.ordering_key
)
SELECT count(*)::integer AS count FROM deleted`;
