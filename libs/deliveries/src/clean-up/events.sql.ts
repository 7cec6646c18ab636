/**
 * Deletes events to which no delivery has referred for longer than $1 ms: those that lost a delivery before that, have none
 * left, and lost none since. A delivery that another transaction has just deleted counts as left until that commits; that
 * transaction notes its own removal, which brings the event here again.
 *
 * The answer's `seen` is how many events were looked at.
 *
 * $1 ms since the last delivery was deleted · $2 removals at most
 */
export const deleteUnreferencedEventsSql = (schema: string): string => `
WITH lost AS MATERIALIZED (
  SELECT DISTINCT event_id
    FROM (SELECT r.event_id
            FROM ${schema}.delivery_removals r
           WHERE r.removed_at <= now() - $1::float8 * interval '1 ms'
           ORDER BY r.removed_at
           LIMIT $2) oldest
), noted AS (
  DELETE FROM ${schema}.delivery_removals r
   WHERE r.event_id = ANY (ARRAY (SELECT event_id FROM lost)) AND r.removed_at <= now() - $1::float8 * interval '1 ms'
), deleted AS (
  DELETE FROM ${schema}.events e
   WHERE e.id = ANY (ARRAY (SELECT event_id FROM lost))
     AND NOT EXISTS (
       SELECT FROM ${schema}.delivery_removals r
        WHERE r.event_id = e.id AND r.removed_at > now() - $1::float8 * interval '1 ms')
     AND NOT EXISTS (SELECT FROM ${schema}.deliveries d WHERE d.id = ANY (e.delivery_ids))
  RETURNING e.id
)
SELECT (SELECT count(*) FROM deleted)::integer AS count, (SELECT count(*) FROM lost)::integer AS seen`;

/** Deletes events that never caused a delivery. $1 ms since they occurred · $2 events at most */
export const deleteIdleEventsSql = (schema: string): string => `
WITH past AS MATERIALIZED (
  SELECT e.id
    FROM ${schema}.events e
   WHERE e.delivery_ids = '{}' AND NOT e.audit AND e.occurred_at <= now() - $1::float8 * interval '1 ms'
   ORDER BY e.occurred_at
   LIMIT $2
     FOR UPDATE SKIP LOCKED
), deleted AS (
  DELETE FROM ${schema}.events e WHERE e.id = ANY (ARRAY (SELECT id FROM past)) RETURNING e.id
)
SELECT count(*)::integer AS count FROM deleted`;

/** Deletes what was remembered of operators and abandonment. $1 ms since it occurred · $2 events at most */
export const deleteAuditEventsSql = (schema: string): string => `
WITH past AS MATERIALIZED (
  SELECT e.id
    FROM ${schema}.events e
   WHERE e.audit AND e.occurred_at <= now() - $1::float8 * interval '1 ms'
   ORDER BY e.occurred_at
   LIMIT $2
     FOR UPDATE SKIP LOCKED
), deleted AS (
  DELETE FROM ${schema}.events e WHERE e.id = ANY (ARRAY (SELECT id FROM past)) RETURNING e.id
)
SELECT count(*)::integer AS count FROM deleted`;
