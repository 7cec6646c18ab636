import { pairSql } from '../match/matching.sql';

/**
 * How each channel stands: those named, and those that have deliveries. Every number is counted in an index, and no further than
 * $2, of what is pending oldest first.
 *
 * $1 channels of this process · $2 the cap
 */
export const statsSql = (schema: string): string => `
WITH ${pairSql(schema)}, channel AS (
  SELECT channel AS name FROM pair UNION SELECT unnest($1::text[])
)
SELECT channel.name AS channel, pending.*, failed.*, statement_timestamp() AS at
  FROM channel
 CROSS JOIN LATERAL (
   SELECT count(*)::integer AS pending,
          (count(*) FILTER (WHERE nth <= $2::bigint AND due_at <= now()))::integer AS due,
          (count(*) FILTER (WHERE nth <= $2::bigint AND due_at > now() AND claim_token IS NOT NULL))::integer AS in_flight,
          min(coalesce(retried_at, created_at)) AS oldest
     FROM (SELECT d.due_at, d.claim_token, d.retried_at, d.created_at, row_number() OVER (ORDER BY d.created_at, d.id) AS nth
             FROM ${schema}.deliveries d
            WHERE d.status = 'pending' AND d.channel = channel.name
            ORDER BY d.created_at, d.id
            LIMIT $2::bigint + 1) waiting) pending
 CROSS JOIN LATERAL (
   SELECT count(*)::integer AS failed
     FROM (SELECT FROM ${schema}.deliveries d
            WHERE d.status = 'failed' AND d.channel = channel.name
            LIMIT $2::bigint + 1) broken) failed
 ORDER BY channel.name`;
