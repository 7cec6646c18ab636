import { pairSql } from '../match/matching.sql';

/**
 * How each channel stands: those named, and those that have deliveries. What is only counted is counted in an index alone, and no
 * further than $2; what is looked at is looked at in the table, which takes eight times as long for each, and so oldest first, and
 * no further than $3.
 *
 * $1 channels of this process · $2 the cap of counts · $3 pending deliveries of a channel to look at
 */
export const statsSql = (schema: string): string => `
WITH ${pairSql(schema)}, channel AS (
  SELECT channel AS name FROM pair UNION SELECT unnest($1::text[])
)
SELECT channel.name AS channel, pending.*, closer.*, failed.*, statement_timestamp() AS at
  FROM channel
 CROSS JOIN LATERAL (
   SELECT count(*)::integer AS pending
     FROM (SELECT FROM ${schema}.deliveries d
            WHERE d.status = 'pending' AND d.channel = channel.name
            LIMIT $2::bigint + 1) waiting) pending
 CROSS JOIN LATERAL (
   SELECT (count(*) FILTER (WHERE due_at <= now()))::integer AS due,
          (count(*) FILTER (WHERE due_at > now() AND claim_token IS NOT NULL))::integer AS in_flight,
          min(coalesce(retried_at, created_at)) AS oldest
     FROM (SELECT d.due_at, d.claim_token, d.retried_at, d.created_at
             FROM ${schema}.deliveries d
            WHERE d.status = 'pending' AND d.channel = channel.name
            ORDER BY d.created_at, d.id
            LIMIT $3::bigint) eldest) closer
 CROSS JOIN LATERAL (
   SELECT count(*)::integer AS failed
     FROM (SELECT FROM ${schema}.deliveries d
            WHERE d.status = 'failed' AND d.channel = channel.name
            LIMIT $2::bigint + 1) broken) failed
 ORDER BY channel.name`;
