import { before, firstId, fitsAll, lastId, placed, since } from './matching.sql';
import { waitingChannelsSql, waitingSql } from './waiting.sql';

/**
 * What fits, in the order of ids: the way through a crowd of pending deliveries, which no index has by age. Ids are UUIDs of
 * version 7 (RFC 9562, section 5.7), whose first bits are the millisecond in which they were made: the same order but for what
 * was recorded within moments, and the primary key is there anyway. No further than $17 rows in one call: the row at which it
 * stopped comes too, with `last`, whether it fits or not.
 *
 * Where a span of time is asked for, the walk begins and ends a margin beyond it.
 *
 * $1 to $17 as in `matching.sql.ts`; of the place where the page before ended only the id counts
 */
export const walkSql = (schema: string, order: 'newest' | 'oldest'): string => {
  const [past, direction, start] = order === 'newest' ? ['<', 'DESC', lastId] : ['>', 'ASC', firstId];
  return `(
  SELECT seen.created_at, seen.id, seen.fits, seen.nth = $17::bigint AS last
    FROM (
      SELECT d.created_at, d.id, row_number() OVER (ORDER BY d.id ${direction}) AS nth, ${fitsAll} AS fits
        FROM ${schema}.deliveries d
       WHERE d.id ${past} coalesce($16::uuid, '${start}') AND ${placed}
         AND d.id >= ${idAt(`${since} - ${margin}`)} AND d.id <= ${idAt(`${before} + ${margin}`)}
       ORDER BY d.id ${direction}
       LIMIT $17::bigint) seen
   WHERE seen.fits OR seen.nth = $17::bigint
   ORDER BY seen.id ${direction})`;
};

/**
 * Where the next pending ones are, when a walk that is after nothing else has met none: it need not go through all that ended
 * since. Read in the indexes alone, some 0.2 µs for each that is pending. No row: there are none.
 *
 * $1 channel, null for all · $2 µs since 1970 and $3 id of where the walk ended
 */
export const skipSql = (schema: string): string => `
WITH RECURSIVE ${waitingChannelsSql(schema)}
SELECT least($3::uuid, ${idAt(`max(d.created_at) + ${margin}`)}) AS id
  FROM waiting CROSS JOIN LATERAL (
          ${waitingSql(schema, 'd.created_at', 'waiting.channel')}) d
 WHERE waiting.channel IS NOT NULL AND ($1::text IS NULL OR waiting.channel = $1)
   AND d.created_at <= timestamptz 'epoch' + $2::float8 * interval '1 us' + ${margin}
HAVING count(*) > 0`;

/** An id comes from the clock of the process that records, before its row is written, which may wait for another of its key. */
const margin = `interval '1 minute'`;

/** The first id of a millisecond; of what is infinite, the first or the last there is. */
function idAt(instant: string): string {
  return `(SELECT CASE WHEN isfinite(at) THEN (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
                       WHEN at > now() THEN '${lastId}' ELSE '${firstId}' END
             FROM (SELECT least(greatest(${instant}, 'epoch'), 'infinity') AS at) instant)`;
}
