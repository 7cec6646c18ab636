import { byId } from '../../database/by-id';
import { chosenSql, matchingSql, type Narrowing } from './matching.sql';
import { walkSql } from './walk.sql';

/** How deliveries are searched for: through the index that leaves least to look through, or by id. */
export type Search = Narrowing | 'walk';

/** In order, `found`: what fits, and where the search ended early. */
const foundSql = (schema: string, search: Search, order: 'newest' | 'oldest'): string =>
  search === 'walk'
    ? `found AS MATERIALIZED (SELECT m.* FROM ${walkSql(schema, order)} m LIMIT $18)`
    : `${chosenSql(schema, search)}, found AS MATERIALIZED (
  SELECT m.* FROM chosen CROSS JOIN LATERAL (${matchingSql(schema, search, order)} LIMIT $18) m
)`;

/** What a page is in the order of. */
const keyOf = (search: Search, alias: string): string =>
  search === 'walk' ? `${alias}.id` : `(${alias}.created_at, ${alias}.id)`;

/**
 * A page of deliveries in the order of age. The statement is planned with its values each time: it is never prepared by name.
 *
 * Where the search in a pair ended early, nothing beyond that is shown, of any pair: pages follow each other without a gap.
 * `edge` is where the next page begins then. At least one row: with `id` null when the page is empty.
 *
 * $1 to $17 as in `matching.sql.ts` · $18 rows at most
 */
export const listSql = (schema: string, search: Search): string => `
WITH ${foundSql(schema, search, 'newest')}, edge AS MATERIALIZED (
  SELECT created_at, id FROM found WHERE last ORDER BY ${keyOf(search, 'found')} DESC LIMIT 1
), page AS MATERIALIZED (
  SELECT f.id
    FROM found f
   WHERE f.fits AND NOT EXISTS (SELECT FROM edge WHERE ${keyOf(search, 'f')} < ${keyOf(search, 'edge')})
   ORDER BY ${keyOf(search, 'f')} DESC
   LIMIT $18
)
SELECT d.id, d.event_id, d.channel, d.destination, d.lane, d.ordering_key, d.status, d.claim_token IS NOT NULL AS in_flight, d.attempts,
       d.last_error, d.created_at, d.due_at, d.retried_at, d.settled_at, d.deadline,
       (extract(epoch FROM d.created_at) * 1000000)::bigint::text AS created_us,
       edge.id AS edge_id, edge.created_at AS edge_at,
       (extract(epoch FROM edge.created_at) * 1000000)::bigint::text AS edge_us
  FROM (SELECT 1) always
  LEFT JOIN (page JOIN ${schema}.deliveries d ON ${byId('d', 'page.id')}) ON true
  LEFT JOIN edge ON true
 ORDER BY ${keyOf(search, 'd')} DESC`;

/**
 * The next ones for a bulk operation, oldest first; nothing but their ids. At least one row, like a page.
 *
 * $1 to $17 as in `matching.sql.ts` · $18 rows at most
 */
export const nextIdsSql = (schema: string, search: Search): string => `
WITH ${foundSql(schema, search, 'oldest')}, edge AS MATERIALIZED (
  SELECT created_at, id FROM found WHERE last ORDER BY ${keyOf(search, 'found')} LIMIT 1
), page AS MATERIALIZED (
  SELECT f.id, f.created_at
    FROM found f
   WHERE f.fits AND NOT EXISTS (SELECT FROM edge WHERE ${keyOf(search, 'f')} > ${keyOf(search, 'edge')})
   ORDER BY ${keyOf(search, 'f')}
   LIMIT $18
)
SELECT page.id, (extract(epoch FROM page.created_at) * 1000000)::bigint::text AS created_us, edge.id AS edge_id,
       edge.created_at AS edge_at, (extract(epoch FROM edge.created_at) * 1000000)::bigint::text AS edge_us
  FROM (SELECT 1) always LEFT JOIN page ON true LEFT JOIN edge ON true
 ORDER BY ${keyOf(search, 'page')}`;

/**
 * How many fit. `capped`: there are more than that, or the search ended early. `as_of` is rounded up to what a Date holds.
 *
 * $1 to $17 as in `matching.sql.ts` · $18 the cap
 */
export const countSql = (schema: string, narrowing: Narrowing): string => `
WITH ${chosenSql(schema, narrowing)}, found AS MATERIALIZED (
  SELECT m.fits, m.last
    FROM chosen CROSS JOIN LATERAL ${matchingSql(schema, narrowing, 'none')} m
   LIMIT $18::bigint + 1 + (SELECT count(*) FROM chosen)
)
SELECT least(count(*) FILTER (WHERE fits), $18::bigint)::integer AS count,
       count(*) FILTER (WHERE fits) > $18::bigint OR coalesce(bool_or(last), false) AS capped,
       date_trunc('milliseconds', statement_timestamp()) + interval '1 ms' AS as_of
  FROM found`;
