import { byId } from '../database/by-id';
/**
 * An operator's cancel. One statement; the row is locked first, and the conditions are checked on the version that the lock
 * found.
 *
 * An attempt in flight cannot be recalled. Its token goes, so that its outcome is dropped; its lease stays, since it may still
 * reach the receiver until then: an ordered delivery keeps its key until the lease ends, and an unordered one that is retried is
 * not due before. The attempt gets its row here, as nobody else will write it: `cancelled`, or `crashed` if its lease had
 * ended before.
 *
 * Without a row in the answer there is no such delivery; without `cancelled`, nothing was changed.
 *
 * $1 id · $2 actor · $3 id for the event · $4 channels and $5 their leases in ms: when the attempt started
 */
export const cancelSql = (schema: string): string => `
WITH target AS MATERIALIZED (
  SELECT d.id, d.channel, d.ordering_key, d.status, d.claim_token, d.lease_expires_at, d.attempts
    FROM ${schema}.deliveries d
   WHERE d.id = $1
     FOR UPDATE
), cancelled AS (
  UPDATE ${schema}.deliveries d
     SET status = 'cancelled', settled_at = clock_timestamp(), claim_token = NULL,
         lease_expires_at = CASE WHEN d.lease_expires_at > clock_timestamp() THEN d.lease_expires_at END
    FROM target
   WHERE ${byId('d', 'target.id')} AND target.status IN ('pending', 'failed')
  RETURNING d.id, d.channel
), attempt AS (
  INSERT INTO ${schema}.delivery_attempts (delivery_id, number, started_at, ended_at, outcome, error)
  SELECT target.id, target.attempts,
         least(clock_timestamp(), target.lease_expires_at - coalesce(lease.ms, 0) * interval '1 ms'),
         least(clock_timestamp(), target.lease_expires_at), ended.how, ended.how
    FROM target JOIN cancelled ON cancelled.id = target.id
    LEFT JOIN unnest($4::text[], $5::float8[]) AS lease (channel, ms) ON lease.channel = target.channel
   CROSS JOIN LATERAL (
      SELECT CASE WHEN target.lease_expires_at > clock_timestamp() THEN 'cancelled' ELSE 'crashed' END AS how) ended
   WHERE target.claim_token IS NOT NULL
), remembered AS (
  INSERT INTO ${schema}.events (id, type, payload, actor, delivery_id, audit, occurred_at)
  SELECT $3, 'delivery_cancelled',
         jsonb_build_object('channel', target.channel, 'was', target.status, 'inFlight', target.claim_token IS NOT NULL), $2,
         target.id, true, clock_timestamp()
    FROM target JOIN cancelled ON cancelled.id = target.id
)
SELECT target.channel, target.status, target.claim_token IS NOT NULL AS in_flight, target.ordering_key,
       cancelled.id IS NOT NULL AS cancelled
  FROM target LEFT JOIN cancelled ON cancelled.id = target.id`;
