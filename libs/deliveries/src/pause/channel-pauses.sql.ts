/**
 * Pauses a channel for a reason of its own, or prolongs that pause. What was said last counts, and `since` stays what it was while
 * the pause before it is still in force. One row and one commit, as in every statement here: nothing else is held meanwhile.
 *
 * $1 channel · $2 reason · $3 for how long, in ms
 */
export const pauseForReasonSql = (schema: string): string => `
INSERT INTO ${schema}.delivery_pauses AS p (channel, lane, reason, since, until)
VALUES ($1, '', $2, clock_timestamp(), clock_timestamp() + $3::float8 * interval '1 ms')
ON CONFLICT (channel, lane, reason) DO UPDATE
   SET since = CASE WHEN p.until > now() THEN p.since ELSE excluded.since END, until = excluded.until`;

/**
 * Ends the pause that has this reason, and no other.
 *
 * $1 channel · $2 reason
 */
export const resumeForReasonSql = (schema: string): string => `
DELETE FROM ${schema}.delivery_pauses p WHERE p.channel = $1 AND p.lane = '' AND p.reason = $2
RETURNING p.channel`;
