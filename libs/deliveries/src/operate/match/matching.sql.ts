import { unfinished } from '../../order/unfinished';

/** Which index finds what is asked for, when not only the age decides; see `narrowingOf`. */
export const narrowings = {
  none: '',
  error: 'AND d.last_error = $6',
  destination: "AND d.status = 'failed' AND d.destination = $5",
  lane: "AND d.status = 'failed' AND d.lane <> '' AND d.lane = $3",
  key: `AND ${unfinished('d')} AND d.ordering_key = $4`,
  ids: 'AND d.id = ANY ($11::uuid[])',
} as const;

export type Narrowing = keyof typeof narrowings;

/**
 * The part that list, count and bulk operations have in common: `chosen`, the pairs of status and channel that there are and
 * that are asked for, found by a loose scan of `deliveries_listed_idx` (one probe for each pair, however many deliveries it
 * has); and `matching`, what fits in one pair, in the order of age.
 *
 * A pair's stretch of the index is in the order of age, so a page of it costs a page, and what is asked for across pairs is the
 * merger of a page of each. What no index serves is looked for row by row, and no further than `most` rows of the pair in one
 * call: the row at which it stopped comes too, with `last`, whether it fits or not.
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

/** The pairs of status and channel that there are: one probe of the index for each. */
export const pairSql = (schema: string): string => `RECURSIVE pair AS (
  (SELECT d.status, d.channel FROM ${schema}.deliveries d ORDER BY d.status, d.channel LIMIT 1)
   UNION ALL
  SELECT n.status, n.channel
    FROM pair CROSS JOIN LATERAL (
      SELECT d.status, d.channel
        FROM ${schema}.deliveries d
       WHERE (d.status, d.channel) > (pair.status, pair.channel)
       ORDER BY d.status, d.channel
       LIMIT 1) n
)`;

export const matchingSql = (schema: string, narrowing: Narrowing, first: 'newest' | 'oldest'): string => {
  const [past, direction, start] = first === 'newest' ? ['<', 'DESC', 'infinity'] : ['>', 'ASC', '-infinity'];
  const startId = first === 'newest' ? 'ffffffff-ffff-ffff-ffff-ffffffffffff' : '00000000-0000-0000-0000-000000000000';
  return `(
  SELECT seen.created_at, seen.id, seen.fits, seen.nth = chosen.most AS last
    FROM (
      SELECT d.created_at, d.id, row_number() OVER (ORDER BY d.created_at ${direction}, d.id ${direction}) AS nth,
             ($3::text IS NULL OR d.lane = $3) AND ($4::text IS NULL OR d.ordering_key = $4)
             AND ($5::text IS NULL OR d.destination = $5) AND ($6::text IS NULL OR d.last_error = $6)
             AND ($11::uuid[] IS NULL OR d.id = ANY ($11))
             AND CASE $12::text
                   WHEN 'retry' THEN ${retryable('$13', '$14')}
                   WHEN 'cancel' THEN ${cancellable('$13')}
                   ELSE true END AS fits
        FROM ${schema}.deliveries d
       WHERE d.status = chosen.status AND d.channel = chosen.channel ${narrowings[narrowing]}
         AND d.created_at >= coalesce(greatest($7::timestamptz, now() - $9::float8 * interval '1 ms'), '-infinity')
         AND d.created_at < coalesce($8::timestamptz, 'infinity')
         AND d.created_at <= coalesce(now() - $10::float8 * interval '1 ms', 'infinity')
         AND (d.created_at, d.id) ${past} (coalesce(timestamptz 'epoch' + $15::float8 * interval '1 us', '${start}'),
                                   coalesce($16::uuid, '${startId}'))
       ORDER BY d.created_at ${direction}, d.id ${direction}
       LIMIT chosen.most) seen
   WHERE seen.fits OR seen.nth = chosen.most
   ORDER BY seen.created_at ${direction}, seen.id ${direction})`;
};

/** What an operator can retry, of what was so at an instant. The single retry gives each of these reasons a name. */
export const retryable = (asOf: string, revivable: string): string => `(
  d.settled_at <= ${asOf}::timestamptz AND (d.deadline IS NULL OR d.deadline > clock_timestamp())
  AND (d.status = 'failed' OR (d.status = 'cancelled' AND d.ordering_key IS NULL AND d.channel = ANY (${revivable}::text[]))))`;

/** What an operator can cancel, of what was so at an instant. */
export const cancellable = (asOf: string): string => `(
  (d.status = 'pending' AND d.created_at <= ${asOf}::timestamptz) OR (d.status = 'failed' AND d.settled_at <= ${asOf}::timestamptz))`;
