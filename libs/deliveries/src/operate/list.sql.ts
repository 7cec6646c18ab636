/**
 * A page of deliveries, newest first. The parameters that are null constrain nothing. The statement is planned with its values
 * each time (it is never prepared by name), so that each filter can use the index that is made for it.
 *
 * $1 status · $2 channel · $3 ordering key · $4 destination · $5 error kind · $6 at least and $7 at most so many ms old ·
 * $8 µs since 1970 and $9 id of the last one of the page before · $10 rows at most
 */
export const listSql = (schema: string): string => `
SELECT d.id, d.event_id, d.channel, d.destination, d.lane, d.ordering_key, d.status, d.claim_token IS NOT NULL AS in_flight, d.attempts,
       d.last_error, d.created_at, d.due_at, d.retried_at, d.settled_at, d.deadline,
       (extract(epoch FROM d.created_at) * 1000000)::bigint::text AS created_us
  FROM ${schema}.deliveries d
 WHERE ($1::text IS NULL OR d.status = $1)
   AND ($2::text IS NULL OR d.channel = $2)
   AND ($3::text IS NULL OR d.ordering_key = $3)
   AND ($4::text IS NULL OR d.destination = $4)
   AND ($5::text IS NULL OR d.last_error = $5)
   AND ($6::float8 IS NULL OR d.created_at <= now() - $6::float8 * interval '1 ms')
   AND ($7::float8 IS NULL OR d.created_at >= now() - $7::float8 * interval '1 ms')
   AND ($8::float8 IS NULL OR (d.created_at, d.id) < (timestamptz 'epoch' + $8::float8 * interval '1 us', $9::uuid))
 ORDER BY d.created_at DESC, d.id DESC
 LIMIT $10`;
