/**
 * Deletes a batch of what ended longer ago than it is kept. Its attempts go with it, and a trigger notes which events lost a
 * delivery.
 *
 * It waits for nobody: rows that an operator or a purge holds are passed over, and the next pass finds what is left of them. So
 * it is never a part of a circle of waiting, whoever else is at work. The locks are taken in a step of their own, before the
 * DELETE, which would wait. If a row changed between the snapshot and its lock (an operator revived it), PostgreSQL checks the
 * conditions again on the newest version.
 *
 * `ANY (ARRAY (…))` and not a join: with a thousand rows to find, a join may be planned as a scan of the whole table.
 *
 * A failed delivery that has an ordering key still holds its key back: abandonment takes it.
 *
 * $1 channel · $2 status · $3 ms since it ended · $4 rows at most
 */
export const deleteEndedSql = (schema: string): string => `
WITH past AS MATERIALIZED (
  SELECT d.id
    FROM ${schema}.deliveries d
   WHERE d.channel = $1 AND d.status = $2 AND d.settled_at <= now() - $3::float8 * interval '1 ms'
     AND (d.ordering_key IS NULL OR d.status <> 'failed')
   ORDER BY d.settled_at
   LIMIT $4
     FOR UPDATE SKIP LOCKED
), deleted AS (
  DELETE FROM ${schema}.deliveries d WHERE d.id = ANY (ARRAY (SELECT id FROM past)) RETURNING d.id
)
SELECT count(*)::integer AS count FROM deleted`;
