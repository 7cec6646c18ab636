/**
 * Takes ordinals for deliveries that are about to be inserted: for each key as many as it gets deliveries.
 *
 * The upsert locks the key's row until the caller's transaction ends, so whoever records the same key next waits, and then
 * gets higher ordinals: ordinals of a key rise in the order of commits. A SELECT and an UPDATE instead would let two
 * transactions read the same ordinal. Keys are taken in one order by everybody, so that two calls never wait for each
 * other in a circle.
 *
 * A new key starts at the database's clock in microseconds: clean-up removes the rows of keys without deliveries, and a key
 * that comes back later must not be given an ordinal that it had before.
 *
 * $1 channels · $2 keys, each pair once · $3 how many ordinals each
 */
export const takeOrdinalsSql = (schema: string): string => `
INSERT INTO ${schema}.delivery_orderings AS o (channel, ordering_key, last_ordinal, last_taken, last_recorded_at)
SELECT n.channel, n.ordering_key, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + n.count, n.count, clock_timestamp()
  FROM unnest($1::text[], $2::text[], $3::integer[]) AS n (channel, ordering_key, count)
 ORDER BY n.channel, n.ordering_key
ON CONFLICT (channel, ordering_key)
DO UPDATE SET last_ordinal = o.last_ordinal + EXCLUDED.last_taken,
              last_taken = EXCLUDED.last_taken,
              last_recorded_at = clock_timestamp()
RETURNING channel, ordering_key, last_ordinal`;
