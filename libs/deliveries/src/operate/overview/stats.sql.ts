import { endedPairsSql } from '../match/matching.sql';
import { waitingChannelsSql, waits } from '../match/waiting.sql';

/**
 * How each channel stands: those named, and those that have deliveries. What is only counted is counted in an index alone, and no
 * further than $2 in each; what is looked at is looked at in the table, which takes eight times as long for each, and so no further
 * than $3 in each index. An attempt under way is due at the end of its lease: it is among the first of those that nobody can take yet.
 *
 * $1 channels of this process · $2 the cap of counts · $3 pending deliveries to look at in each index
 */
export const statsSql = (schema: string): string => `
WITH RECURSIVE ${endedPairsSql(schema)}, ${waitingChannelsSql(schema)}, channel AS (
  SELECT channel AS name FROM ended
   UNION
  SELECT channel FROM waiting WHERE channel IS NOT NULL
   UNION
  SELECT unnest($1::text[])
)
SELECT channel.name AS channel, pending.*, ready.*, sending.*, failed.*, statement_timestamp() AS at
  FROM channel
 CROSS JOIN LATERAL (
   SELECT least(count(*), $2::bigint + 1)::integer AS pending, min(coalesce(retried_at, created_at)) AS oldest
     FROM (${[single, inLanes, ordered].map((wait) => first(schema, wait, 'd.retried_at, d.created_at', '$2::bigint + 1')).join(union)}) d) pending
 CROSS JOIN LATERAL (
   SELECT least(count(*) FILTER (WHERE due_at <= now()), $3::bigint)::integer AS due
     FROM (${[dueIn(single), dueIn(inLanes), ordered].map((wait) => first(schema, wait, 'd.due_at', '$3::bigint')).join(union)}) d) ready
 CROSS JOIN LATERAL (
   SELECT least(count(*) FILTER (WHERE claim_token IS NOT NULL AND due_at > now()), $3::bigint)::integer AS in_flight
     FROM (${[laterIn(single), laterIn(inLanes), claimedInOrder].map((wait) => first(schema, wait, 'd.claim_token, d.due_at', '$3::bigint')).join(union)}) d) sending
 CROSS JOIN LATERAL (
   SELECT count(*)::integer AS failed
     FROM (SELECT FROM ${schema}.deliveries d
            WHERE d.status = 'failed' AND d.channel = channel.name
            LIMIT $2::bigint + 1) broken) failed
 ORDER BY channel.name`;

interface Wait {
  /** The predicate of an index, and more. */
  readonly where: string;
  /** The order of the index. */
  readonly order: string;
}

const [single, inLanes, ordered] = waits;
const dueIn = ({ where, order }: Wait): Wait => ({ where: `${where} AND d.due_at <= now()`, order });
const laterIn = ({ where, order }: Wait): Wait => ({ where: `${where} AND d.due_at > now()`, order });
/** `deliveries_one_claim_idx`: when an ordered one is due is not in the index in which it waits. */
const claimedInOrder: Wait = {
  where: 'd.ordering_key IS NOT NULL AND d.claim_token IS NOT NULL',
  order: 'd.ordering_key',
};

const first = (schema: string, { where, order }: Wait, columns: string, limit: string): string => `
    (SELECT ${columns} FROM ${schema}.deliveries d
      WHERE ${where} AND d.channel = channel.name ORDER BY ${order} LIMIT ${limit})`;

const union = '\n     UNION ALL';
