import { unfinished } from '../../order/unfinished';
import { waitingChannelsSql, waitingSql } from './waiting.sql';

/** Which index finds what is asked for, when not only the age decides; see `narrowingOf`. */
export const narrowings = {
  none: "AND d.status <> 'pending'",
  error: 'AND d.last_error = $6',
  destination: "AND d.status = 'failed' AND d.destination = $5",
  lane: "AND d.status = 'failed' AND d.lane <> '' AND d.lane = $3",
  key: `AND ${unfinished('d')} AND d.ordering_key = $4`,
  ids: 'AND d.id = ANY ($11::uuid[])',
} as const;

export type Narrowing = keyof typeof narrowings;

/** The order in which deliveries are given; none where they are only counted. */
export type Order = 'newest' | 'oldest' | 'none';

/**
 * The part that list, count and bulk operations have in common: `chosen`, the pairs of status and channel that there are and
 * that are asked for, found by loose scans (one probe for each pair, however many deliveries it has); and `matching`, what fits
 * in one pair, in the order of age.
 *
 * A pair's stretch of an index is in the order of age, so a page of it costs a page, and what is asked for across pairs is the
 * merger of a page of each. What no index serves is looked for row by row, and no further than `most` rows of the pair in one
 * call: the row at which it stopped comes too, with `last`, whether it fits or not. Pending ones are gathered and sorted, all that
 * there are; when they are a crowd, `walkSql` is asked instead.
 *
 * The bounds are never null: `OR $n IS NULL` would not be a condition of the index.
 *
 * $1 statuses · $2 channel · $3 lane · $4 ordering key · $5 destination · $6 error kind · $7 created at this instant or later ·
 * $8 created before it · $9 at most and $10 at least so many ms old · $11 ids · $12 `retry` or `cancel`: only what that could
 * change · $13 and only what was like that at this instant · $14 channels whose cancelled deliveries may be revived · $15 µs since
 * 1970 and $16 id of where the page before ended · $17 rows to look at in one call. All but $1, $14 and $17 may be null.
 */
export const chosenSql = (schema: string, narrowing: Narrowing): string => `
${narrowing === 'ids' ? `pair AS (SELECT DISTINCT d.status, d.channel FROM ${schema}.deliveries d WHERE d.id = ANY ($11::uuid[]))` : pairSql(schema)},
chosen AS MATERIALIZED (
  SELECT status, channel, greatest(200, $17::bigint / count(*) OVER ()) AS most
    FROM pair
   WHERE status = ANY ($1::text[]) AND ($2::text IS NULL OR channel = $2)
)`;

/** The pairs of status and channel that there are. */
const pairSql = (
  schema: string,
): string => `RECURSIVE ${endedPairsSql(schema)}, ${waitingChannelsSql(schema)}, pair AS (
  SELECT status, channel FROM ended UNION ALL SELECT 'pending', channel FROM waiting WHERE channel IS NOT NULL
)`;

/** `ended`, the pairs without the pending ones: one probe of `deliveries_listed_idx` for each. For WITH RECURSIVE. */
export const endedPairsSql = (schema: string): string => `ended AS (
  (SELECT d.status, d.channel FROM ${schema}.deliveries d WHERE d.status <> 'pending' ORDER BY d.status, d.channel LIMIT 1)
   UNION ALL
  SELECT n.status, n.channel
    FROM ended CROSS JOIN LATERAL (
      SELECT d.status, d.channel
        FROM ${schema}.deliveries d
       WHERE d.status <> 'pending' AND (d.status, d.channel) > (ended.status, ended.channel)
       ORDER BY d.status, d.channel
       LIMIT 1) n
)`;

export const matchingSql = (schema: string, narrowing: Narrowing, order: Order): string => {
  const rows = `SELECT d.* FROM ${schema}.deliveries d
             WHERE d.status = chosen.status AND d.channel = chosen.channel ${narrowings[narrowing]}`;
  const looked = lookedAtSql(rows, order);
  if (narrowing !== 'none') return `(${looked})`;
  const waiting = waitingSql(schema, 'd.*', `chosen.channel AND chosen.status = 'pending'`);
  return `(${looked}
   UNION ALL ${order === 'none' ? lookedAtSql(waiting, order) : gatheredSql(waiting, order)})`;
};

/** No further than `most` rows, which come in this order. */
const lookedAtSql = (rows: string, order: Order): string => `
 (SELECT seen.created_at, seen.id, seen.fits, seen.nth = chosen.most AS last
    FROM (
      SELECT d.created_at, d.id, row_number() OVER (${byAge(order)}) AS nth, ${fits} AS fits
        FROM (${rows}) d
       WHERE ${within} ${beyond(order)}
       ${byAge(order)}
       LIMIT chosen.most) seen
   WHERE seen.fits OR seen.nth = chosen.most
   ${byAge(order)})`;

/** All that fit, sorted: no more than a page of them is kept meanwhile. */
const gatheredSql = (rows: string, order: Order): string => `
 (SELECT d.created_at, d.id, true, false
    FROM (${rows}) d
   WHERE ${within} ${beyond(order)} AND ${fits}
   ${byAge(order)}
   LIMIT $18)`;

const byAge = (order: Order): string =>
  ({ newest: 'ORDER BY created_at DESC, id DESC', oldest: 'ORDER BY created_at, id', none: '' })[order];

/** After where the page before ended. */
const beyond = (order: Order): string => {
  if (order === 'none') return `AND ${placed}`;
  const [past, start, startId] = order === 'newest' ? ['<', 'infinity', lastId] : ['>', '-infinity', firstId];
  return `AND (d.created_at, d.id) ${past} (coalesce(timestamptz 'epoch' + $15::float8 * interval '1 us', '${start}'), coalesce($16::uuid, '${startId}'))`;
};

/** True: PostgreSQL asks for the types of $15 and $16 where they decide nothing. */
export const placed = '($15::float8 IS NULL) = ($16::uuid IS NULL)';

export const firstId = '00000000-0000-0000-0000-000000000000';
export const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Created when it is asked for. */
export const since = `coalesce(greatest($7::timestamptz, now() - $9::float8 * interval '1 ms'), '-infinity')`;
export const before = `least(coalesce($8::timestamptz, 'infinity'), coalesce(now() - $10::float8 * interval '1 ms', 'infinity'))`;
const within = `d.created_at >= ${since} AND d.created_at < coalesce($8::timestamptz, 'infinity')
         AND d.created_at <= coalesce(now() - $10::float8 * interval '1 ms', 'infinity')`;

/** What an operator can retry, of what was so at an instant. The single retry gives each of these reasons a name. */
export const retryable = (asOf: string, revivable: string): string => `(
  d.settled_at <= ${asOf}::timestamptz AND (d.deadline IS NULL OR d.deadline > clock_timestamp())
  AND (d.status = 'failed' OR (d.status = 'cancelled' AND d.ordering_key IS NULL AND d.channel = ANY (${revivable}::text[]))))`;

/** What an operator can cancel, of what was so at an instant. */
export const cancellable = (asOf: string): string => `(
  (d.status = 'pending' AND d.created_at <= ${asOf}::timestamptz) OR (d.status = 'failed' AND d.settled_at <= ${asOf}::timestamptz))`;

const fits = `(($3::text IS NULL OR d.lane = $3) AND ($4::text IS NULL OR d.ordering_key = $4)
             AND ($5::text IS NULL OR d.destination = $5) AND ($6::text IS NULL OR d.last_error = $6)
             AND ($11::uuid[] IS NULL OR d.id = ANY ($11))
             AND CASE $12::text
                   WHEN 'retry' THEN ${retryable('$13', '$14')}
                   WHEN 'cancel' THEN ${cancellable('$13')}
                   ELSE true END)`;

/** The same where no index knew the status, the channel and the age. */
export const fitsAll = `(d.status = ANY ($1::text[]) AND ($2::text IS NULL OR d.channel = $2)
             AND ${within} AND ${fits})`;
