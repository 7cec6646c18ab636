/**
 * Holds a lane whose receiver asked to be left alone, for all replicas. The longest wish counts; what an operator paused is
 * another row. One row and one commit: it holds nothing else while it waits for a statement like itself.
 *
 * $1 channel · $2 lane · $3 for how long, in ms
 */
export const holdLaneSql = (schema: string): string => `
INSERT INTO ${schema}.delivery_pauses AS p (channel, lane, reason, since, until)
VALUES ($1, $2, 'retry_after', clock_timestamp(), clock_timestamp() + $3::float8 * interval '1 ms')
ON CONFLICT (channel, lane, reason) DO UPDATE SET since = excluded.since, until = excluded.until
 WHERE p.until < excluded.until`;
