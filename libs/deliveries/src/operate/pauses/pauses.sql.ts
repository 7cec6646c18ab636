/** What pauses hold now. A row whose time has come is nobody's business any more. */
export const pausesSql = (schema: string): string => `
SELECT p.channel, p.lane, p.reason, p.actor, p.since, p.until
  FROM ${schema}.delivery_pauses p
 WHERE p.until IS NULL OR p.until > now()
 ORDER BY p.channel, p.lane, p.reason
 LIMIT 1000`;

/**
 * Pauses a channel or a lane in the name of an operator, in the place of an operator's pause before it; nothing, and no row, when
 * its end is over already.
 *
 * $1 channel · $2 lane, empty for the whole channel · $3 actor · $4 until · $5 for how long, in ms; both null for ever · $6 id for
 * the event
 */
export const pauseSql = (schema: string): string => `
WITH clock AS MATERIALIZED (
  SELECT clock_timestamp() AS now
), span AS (
  SELECT now AS since, coalesce($4::timestamptz, now + $5::float8 * interval '1 ms') AS until FROM clock
), paused AS (
  INSERT INTO ${schema}.delivery_pauses (channel, lane, reason, actor, since, until)
  SELECT $1, $2, 'operator', $3, since, until FROM span WHERE until IS NULL OR until > since
  ON CONFLICT (channel, lane, reason)
  DO UPDATE SET actor = EXCLUDED.actor, since = EXCLUDED.since, until = EXCLUDED.until
  RETURNING *
), remembered AS (
  INSERT INTO ${schema}.events (id, type, payload, actor, audit, occurred_at)
  SELECT $6, 'channel_paused', jsonb_build_object('channel', channel, 'lane', nullif(lane, ''), 'until', until), actor, true, since
    FROM paused
)
SELECT channel, lane, reason, actor, since, until FROM paused`;

/**
 * Takes back what holds a channel or a lane, whatever its reason; remembers it if it held anything.
 *
 * $1 channel · $2 lane, empty for the whole channel · $3 actor · $4 id for the event
 */
export const resumeSql = (schema: string): string => `
WITH resumed AS (
  DELETE FROM ${schema}.delivery_pauses p WHERE p.channel = $1 AND p.lane = $2 RETURNING *
), held AS (
  SELECT * FROM resumed WHERE until IS NULL OR until > now()
), remembered AS (
  INSERT INTO ${schema}.events (id, type, payload, actor, audit, occurred_at)
  SELECT $4, 'channel_resumed',
         jsonb_build_object('channel', $1::text, 'lane', nullif($2::text, ''), 'reasons', jsonb_agg(reason ORDER BY reason)), $3, true,
         clock_timestamp()
    FROM held
  HAVING count(*) > 0
)
SELECT channel, lane, reason, actor, since, until FROM held ORDER BY reason`;

/** Whether a channel has a delivery. $1 channel */
export const hasDeliveriesSql = (schema: string): string => `
SELECT EXISTS (
  SELECT FROM ${schema}.deliveries d
   WHERE d.status IN ('pending', 'succeeded', 'failed', 'cancelled') AND d.channel = $1) AS found`;
