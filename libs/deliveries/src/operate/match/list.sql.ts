import { chosenSql, matchingSql, type Narrowing } from './matching.sql';

/**
 * A page of deliveries in the order of age. The statement is planned with its values each time: it is never prepared by name.
 *
 * Where the search in a pair ended early, nothing beyond that is shown, of any pair: pages follow each other without a gap.
 * `edge` is where the next page begins then. At least one row: with `id` null when the page is empty.
 *
 * $1 to $17 as in `matching.sql.ts` · $18 rows at most
 */
export const listSql = (schema: string, narrowing: Narrowing): string => `
WITH ${chosenSql(schema, narrowing)}, found AS MATERIALIZED (
  SELECT m.* FROM chosen CROSS JOIN LATERAL (${matchingSql(schema, narrowing, 'newest')} LIMIT $18) m
), edge AS MATERIALIZED (
  SELECT created_at, id FROM found WHERE last ORDER BY created_at DESC, id DESC LIMIT 1
), page AS MATERIALIZED (
  SELECT f.id
    FROM found f
   WHERE f.fits AND NOT EXISTS (SELECT FROM edge WHERE (f.created_at, f.id) < (edge.created_at, edge.id))
   ORDER BY f.created_at DESC, f.id DESC
   LIMIT $18
)
SELECT d.id, d.event_id, d.channel, d.destination, d.lane, d.ordering_key, d.status, d.claim_token IS NOT NULL AS in_flight, d.attempts,
       d.last_error, d.created_at, d.due_at, d.retried_at, d.settled_at, d.deadline,
       (extract(epoch FROM d.created_at) * 1000000)::bigint::text AS created_us,
       edge.id AS edge_id, edge.created_at AS edge_at,
       (extract(epoch FROM edge.created_at) * 1000000)::bigint::text AS edge_us
  FROM (SELECT 1) always
  LEFT JOIN (page JOIN ${schema}.deliveries d ON d.id = page.id) ON true
  LEFT JOIN edge ON true
 ORDER BY d.created_at DESC, d.id DESC`;

/**
 * The next ones for a bulk operation, oldest first; nothing but their ids. At least one row, like a page.
 *
 * $1 to $17 as in `matching.sql.ts` · $18 rows at most
 */
export const nextIdsSql = (schema: string, narrowing: Narrowing): string => `
WITH ${chosenSql(schema, narrowing)}, found AS MATERIALIZED (
  SELECT m.* FROM chosen CROSS JOIN LATERAL (${matchingSql(schema, narrowing, 'oldest')} LIMIT $18) m
), edge AS MATERIALIZED (
  SELECT created_at, id FROM found WHERE last ORDER BY created_at, id LIMIT 1
), page AS MATERIALIZED (
  SELECT f.id, f.created_at
    FROM found f
   WHERE f.fits AND NOT EXISTS (SELECT FROM edge WHERE (f.created_at, f.id) > (edge.created_at, edge.id))
   ORDER BY f.created_at, f.id
   LIMIT $18
)
SELECT page.id, (extract(epoch FROM page.created_at) * 1000000)::bigint::text AS created_us, edge.id AS edge_id,
       (extract(epoch FROM edge.created_at) * 1000000)::bigint::text AS edge_us
  FROM (SELECT 1) always LEFT JOIN page ON true LEFT JOIN edge ON true
 ORDER BY page.created_at, page.id`;

/**
 * How many fit. `capped`: there are more than that, or the search ended early. `as_of` is rounded up to what a Date holds.
 *
 * $1 to $17 as in `matching.sql.ts` · $18 the cap
 */
export const countSql = (schema: string, narrowing: Narrowing): string => `
WITH ${chosenSql(schema, narrowing)}, found AS MATERIALIZED (
  SELECT m.fits, m.last
    FROM chosen CROSS JOIN LATERAL ${matchingSql(schema, narrowing, 'newest')} m
   LIMIT $18::bigint + 1 + (SELECT count(*) FROM chosen)
)
SELECT least(count(*) FILTER (WHERE fits), $18::bigint)::integer AS count,
       count(*) FILTER (WHERE fits) > $18::bigint OR coalesce(bool_or(last), false) AS capped, 
       date_trunc('milliseconds', statement_timestamp()) + interval '1 ms' AS as_of
  FROM found`;
