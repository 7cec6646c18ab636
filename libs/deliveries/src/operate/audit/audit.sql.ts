/**
 * A page of what operators and clean-up did, newest first. Looks at $6 events at most: where that was the end of the search, the
 * event comes too, with `fits` false if it does not fit.
 *
 * $1 delivery · $2 actor · $3 type · $4 µs since 1970 and $5 id of where the page before ended · $6 events to look at · $7 rows at
 * most. $1 to $5 may be null.
 */
export const auditSql = (schema: string, of: 'everything' | 'a delivery'): string => `
SELECT seen.id, seen.type, seen.payload, seen.actor, seen.delivery_id, seen.occurred_at, seen.fits, seen.nth = $6::bigint AS last,
       (extract(epoch FROM seen.occurred_at) * 1000000)::bigint::text AS occurred_us
  FROM (
    SELECT e.id, e.type, e.payload, e.actor, e.delivery_id, e.occurred_at,
           row_number() OVER (ORDER BY e.occurred_at DESC, e.id DESC) AS nth,
           ($1::uuid IS NULL OR e.delivery_id = $1) AND ($2::text IS NULL OR e.actor = $2) AND ($3::text IS NULL OR e.type = $3) AS fits
      FROM ${schema}.events e
     WHERE e.audit ${of === 'a delivery' ? 'AND e.delivery_id = $1' : ''}
       AND (e.occurred_at, e.id) < (coalesce(timestamptz 'epoch' + $4::float8 * interval '1 us', 'infinity'),
                                    coalesce($5::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
     ORDER BY e.occurred_at DESC, e.id DESC
     LIMIT $6::bigint) seen
 WHERE seen.fits OR seen.nth = $6::bigint
 ORDER BY seen.occurred_at DESC, seen.id DESC
 LIMIT $7`;
