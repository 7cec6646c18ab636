import { unfinished } from '../../order/unfinished';

/**
 * What is pending, through the indexes from which it is claimed. It is in no index by age: a claim writes a new entry into each
 * index that a row is in, and one by age cost a quarter of PostgreSQL's time for it (18.1 µs a delivery in the place of 13.6, and 180
 * bytes of log).
 *
 * The conditions are the predicates of these indexes, word for word, which is the only way for the planner to use them. The order
 * of each is that of the claims: `order` says which, for a look that has an end.
 */
export const waits = [
  { where: `d.status = 'pending' AND d.ordering_key IS NULL AND d.lane = ''`, order: 'd.due_at' },
  { where: `d.status = 'pending' AND d.ordering_key IS NULL AND d.lane <> ''`, order: 'd.lane, d.due_at' },
  { where: `d.status = 'pending' AND d.ordering_key IS NOT NULL`, order: 'd.ordering_key, d.ordinal' },
] as const;

/** Rows of a channel that are pending, those in flight too. @param columns of `d` @param channel expression */
export const waitingSql = (schema: string, columns: string, channel: string): string =>
  waits
    .map(({ where }) => `SELECT ${columns} FROM ${schema}.deliveries d WHERE ${where} AND d.channel = ${channel}`)
    .join('\n          UNION ALL ');

/**
 * `waiting`, the channels in which something is pending, or failed and holds its key: one probe of each index for each. For
 * WITH RECURSIVE; the last row is null.
 */
export const waitingChannelsSql = (schema: string): string => {
  const after = (channel: string): string =>
    `least(${[waits[0].where, waits[1].where, unfinished('d')]
      .map(
        (where) =>
          `\n    (SELECT d.channel FROM ${schema}.deliveries d WHERE ${where} AND d.channel > ${channel} ORDER BY d.channel LIMIT 1)`,
      )
      .join(',')})`;
  return `waiting AS (
  SELECT ${after("''")} AS channel
   UNION ALL
  SELECT ${after('waiting.channel')} FROM waiting WHERE waiting.channel IS NOT NULL
)`;
};

/**
 * Whether more are pending than are gathered and sorted for a page: counted in the indexes alone, in a millisecond.
 *
 * $1 channel, null for all · $2 how many are gathered
 */
export const crowdSql = (schema: string): string => `
WITH RECURSIVE ${waitingChannelsSql(schema)}
SELECT count(*) > $2::bigint AS crowd
  FROM (
    SELECT FROM waiting CROSS JOIN LATERAL (
          ${waitingSql(schema, '', 'waiting.channel')}) d
     WHERE waiting.channel IS NOT NULL AND ($1::text IS NULL OR waiting.channel = $1)
     LIMIT $2::bigint + 1) seen`;
