import { byId } from '../database/by-id';
import { channelPaused } from '../pause/paused';
import { unsynced } from './unsynced';

/**
 * Leases unordered deliveries without a lane that are due, longest due first. One statement, one commit.
 *
 * A paused channel costs one look at a small table: the condition names no column of the scan, so it is asked once.
 *
 * - `now()`, not `clock_timestamp()`, in the predicate: a volatile function cannot bound an index scan, and an empty poll
 *   over 500,000 future rows took 620 ms instead of 0.5 ms.
 * - `$4` is a lower bound of `due_at`: while a snapshot is held open elsewhere, vacuum cannot remove the index entries of
 *   rows that were claimed already, and without the bound every claim would walk over all of them.
 * - SKIP LOCKED: a claim waits for nobody. If the row changed between the snapshot and the lock, PostgreSQL checks the
 *   predicate again on the newest version, so a row is never claimed twice.
 * - A token on a due row is an attempt whose lease ran out: its worker vanished, or is too late. The attempt is written
 *   down as crashed, and the new token makes sure that nothing the old one reports is accepted.
 *
 * $1 channel · $2 free slots · $3 lease in ms · $4 lower bound of due_at in microseconds since 1970 · $5 token
 */
export const claimSql = (schema: string): string => `
WITH due AS MATERIALIZED (
  SELECT id, due_at, claim_token, attempts, lease_expires_at, clock_timestamp() + $3::float8 * interval '1 ms' AS lease_end
    FROM ${schema}.deliveries
   WHERE channel = $1 AND status = 'pending' AND ordering_key IS NULL AND lane = '' AND NOT ${channelPaused(schema, '$1')}
     AND ${unsynced}
     AND due_at <= now() AND due_at >= timestamptz 'epoch' + $4::float8 * interval '1 us'
   ORDER BY due_at
   LIMIT $2
     FOR UPDATE SKIP LOCKED
), crashed AS (
  INSERT INTO ${schema}.delivery_attempts (delivery_id, number, started_at, ended_at, outcome, error)
  SELECT id, attempts, lease_expires_at - $3::float8 * interval '1 ms', lease_expires_at, 'crashed', 'crashed'
    FROM due
   WHERE claim_token IS NOT NULL
)
UPDATE ${schema}.deliveries d
   SET claim_token = $5::uuid, due_at = due.lease_end, lease_expires_at = due.lease_end,
       attempts = d.attempts + 1,
       crashes = d.crashes + CASE WHEN due.claim_token IS NULL THEN 0 ELSE 1 END
  FROM due
 WHERE ${byId('d', 'due.id')}
RETURNING d.id, d.event_id, d.destination, d.recipient, d.payload, d.attempts, d.attempts_at_retry, d.crashes,
          date_part('epoch', d.created_at) * 1000 AS created_ms, d.retried_at, d.deadline,
          (extract(epoch FROM due.due_at) * 1000000)::float8 AS was_due_us, date_part('epoch', clock_timestamp()) * 1000 AS claimed_ms`;

/**
 * Whether a claim still holds: a row in the answer. Its lease and the delivery's deadline are judged by the database's clock.
 * $1 id · $2 token
 */
export const isHeldSql = (schema: string): string => `
SELECT 1
  FROM ${schema}.deliveries d
 WHERE d.id = $1 AND d.claim_token = $2 AND d.lease_expires_at > clock_timestamp()
   AND (d.deadline IS NULL OR d.deadline > clock_timestamp())`;

/**
 * Gives claims back as if they had not been made: one attempt less, due again. Fenced by the token, like every write after
 * a claim; rows in id order, like every statement that locks several.
 *
 * $1 ids · $2 tokens · $3 due times in microseconds since 1970
 */
export const giveBackSql = (schema: string): string => `
WITH given AS (
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::float8[]) AS g (id, token, due_us)
), held AS MATERIALIZED (
  SELECT d.id, g.due_us
    FROM ${schema}.deliveries d JOIN given g ON ${byId('d', 'g.id')} AND g.token = d.claim_token
   ORDER BY g.id
     FOR UPDATE OF d
)
UPDATE ${schema}.deliveries d
   SET claim_token = NULL, lease_expires_at = NULL, attempts = d.attempts - 1,
       due_at = timestamptz 'epoch' + held.due_us * interval '1 us'
  FROM held
 WHERE ${byId('d', 'held.id')}
RETURNING d.id`;
