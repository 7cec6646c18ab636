import { byId } from '../database/by-id';
import { unfinished } from '../order/unfinished';

/**
 * An operator's retry: due now, as if it were new, with its id and its history. One statement: the row is locked first, and every
 * condition is checked on the version that the lock found, so that of twenty retries one is the retry and nineteen are
 * told what it has become.
 *
 * - It restarts `maxAge` (`retried_at`) and the count that backoff and `maxAttempts` use (`attempts_at_retry`), and takes back the
 *   crashes. It never moves a deadline.
 * - One whose last attempt may still reach the receiver (cancelled in flight, or failed while its channel did not return) is due
 *   when the lease of that attempt ends. The lease stays: it holds the key if the delivery is cancelled again before that.
 * - With $5, the age of all that waits behind it in its key restarts too: the first was in the way of each of them.
 *
 * Without a row in the answer there is no such delivery. `refusal` says why nothing was changed.
 *
 * $1 id · $2 actor · $3 id for the event · $4 channels whose cancelled deliveries may be revived · $5 restart the age of those behind
 */
export const retrySql = (schema: string): string => `
WITH target AS MATERIALIZED (
  SELECT d.id, d.channel, d.ordering_key, d.ordinal, d.status, d.claim_token, d.lease_expires_at, d.deadline
    FROM ${schema}.deliveries d
   WHERE d.id = $1
     FOR UPDATE
), judged AS MATERIALIZED (
  SELECT target.*,
         CASE WHEN status NOT IN ('failed', 'cancelled') THEN 'not_ended_badly'
              WHEN status = 'cancelled' AND ordering_key IS NOT NULL THEN 'cancelled_in_order'
              WHEN status = 'cancelled' AND channel <> ALL ($4::text[]) THEN 'cancelled_for_good'
              WHEN deadline <= clock_timestamp() THEN 'past_deadline' END AS refusal
    FROM target
), retried AS (
  UPDATE ${schema}.deliveries d
     SET status = 'pending', due_at = greatest(clock_timestamp(), d.lease_expires_at),
         lease_expires_at = CASE WHEN d.lease_expires_at > clock_timestamp() THEN d.lease_expires_at END,
         retried_at = clock_timestamp(), settled_at = NULL, attempts_at_retry = d.attempts, crashes = 0
    FROM judged
   WHERE ${byId('d', 'judged.id')} AND judged.refusal IS NULL
  RETURNING d.id, d.channel, d.ordering_key, d.ordinal, d.attempts, d.due_at
), behind AS (
  UPDATE ${schema}.deliveries d
     SET retried_at = clock_timestamp()
    FROM retried
   WHERE $5::boolean AND d.channel = retried.channel AND d.ordering_key = retried.ordering_key AND d.ordinal > retried.ordinal
     AND ${unfinished('d')} AND d.status = 'pending'
  RETURNING d.id
), remembered AS (
  INSERT INTO ${schema}.events (id, type, payload, actor, delivery_id, audit, occurred_at)
  SELECT $3, 'delivery_retried',
         jsonb_build_object('channel', channel, 'restartedBehind', (SELECT count(*) FROM behind)), $2, id, true, clock_timestamp()
    FROM retried
)
SELECT judged.channel, judged.status, judged.claim_token IS NOT NULL AS in_flight, judged.refusal, judged.ordering_key,
       retried.due_at, (SELECT count(*)::integer FROM behind) AS restarted_behind
  FROM judged LEFT JOIN retried ON retried.id = judged.id`;
