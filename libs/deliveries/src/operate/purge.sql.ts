/**
 * Erases a person's deliveries of a channel, in the caller's transaction; nothing if one of them has an ordering key: taking it
 * out of its key's sequence would be an order that nobody decided on.
 *
 * In id order, so that two purges of the same person wait for each other in one direction. Claims, settles and clean-up pass
 * over rows that it has locked; an attempt in flight finds its token gone, and its outcome is dropped.
 *
 * $1 channel · $2 what the recipient contains
 */
export const purgeSql = (schema: string): string => `
WITH found AS MATERIALIZED (
  SELECT d.id, d.ordering_key
    FROM ${schema}.deliveries d
   WHERE d.channel = $1 AND d.recipient @> $2::jsonb
   ORDER BY d.id
     FOR UPDATE
), erased AS (
  DELETE FROM ${schema}.deliveries d
   WHERE d.id = ANY (ARRAY (SELECT id FROM found)) AND NOT EXISTS (SELECT FROM found WHERE found.ordering_key IS NOT NULL)
  RETURNING d.id
)
SELECT (SELECT count(*) FROM erased)::integer AS erased,
       (SELECT count(*) FROM found WHERE ordering_key IS NOT NULL)::integer AS ordered`;
