import { byId } from '../database/by-id';
import { stillPending, unfinished } from '../order/unfinished';
import { channelPaused, lanePaused } from '../pause/paused';

/**
 * Leases heads of ordering keys that are due. One statement, one commit.
 *
 * `scan` steps through `deliveries_unfinished_idx` from key to key (a loose index scan: one probe for each key, however
 * many deliveries wait behind its head) and stops at the end, after $5 probes, or when it has met $2 heads that are due. A
 * head is whatever comes first in the index now: there is no pointer that could be forgotten.
 *
 * Why a head that the snapshot shows is still the head once its row is locked: what is unfinished before a delivery only
 * ever shrinks. Ordinals of a key are committed in rising order, so nothing can be inserted before it; a delivery that
 * succeeded, or was cancelled, never comes back when it is ordered; a failed one that is retried had been unfinished all
 * along, and then it was the head. What can have changed is the head itself: claimed, settled or cancelled meanwhile. FOR
 * UPDATE reads its newest version and checks the conditions again.
 *
 * A cancelled head whose attempt's lease has ended holds its key no longer: `released` takes it out of the index, and the
 * next scan finds what comes after it.
 *
 * Heads of paused lanes are passed over; of a paused channel nothing is looked at.
 *
 * The statement answers with at least one row: without a claim, `id` is null. `more` says that the scan did not reach the
 * end, `released` that it released something: either way, looking again at once is worth while.
 *
 * $1 channel · $2 free slots · $3 lease in ms · $4 cursor, the key after which the scan begins · $5 probes at most ·
 * $6 token
 */
export const claimHeadsSql = (schema: string): string => `
WITH RECURSIVE scan AS (
  (SELECT d.ordering_key, d.id, d.status, d.due_at, d.lease_expires_at, 1 AS probes, ${ready('d', schema)} AS is_ready,
          ${ready('d', schema)}::integer AS ready
     FROM ${schema}.deliveries d
    WHERE d.channel = $1 AND ${unfinished('d')} AND d.ordering_key > $4 AND NOT ${channelPaused(schema, '$1')}
    ORDER BY d.ordering_key, d.ordinal
    LIMIT 1)
  UNION ALL
  SELECT n.ordering_key, n.id, n.status, n.due_at, n.lease_expires_at, scan.probes + 1, n.is_ready,
         scan.ready + n.is_ready::integer
    FROM scan CROSS JOIN LATERAL (
      SELECT d.ordering_key, d.id, d.status, d.due_at, d.lease_expires_at, ${ready('d', schema)} AS is_ready
        FROM ${schema}.deliveries d
       WHERE d.channel = $1 AND ${unfinished('d')} AND d.ordering_key > scan.ordering_key
       ORDER BY d.ordering_key, d.ordinal
       LIMIT 1) n
   WHERE scan.probes < $5 AND scan.ready < $2
), head AS MATERIALIZED (
  SELECT d.id, d.due_at, d.claim_token, d.attempts, d.lease_expires_at,
         clock_timestamp() + $3::float8 * interval '1 ms' AS lease_end
    FROM scan JOIN ${schema}.deliveries d ON ${byId('d', 'scan.id')}
   WHERE scan.is_ready AND ${stillPending('d')} AND d.due_at <= now()
     FOR UPDATE OF d SKIP LOCKED
), spent AS MATERIALIZED (
  SELECT d.id
    FROM scan JOIN ${schema}.deliveries d ON ${byId('d', 'scan.id')}
   WHERE scan.status = 'cancelled' AND d.status || '' = 'cancelled' AND d.lease_expires_at <= now()
     FOR UPDATE OF d SKIP LOCKED
), released AS (
  UPDATE ${schema}.deliveries d SET lease_expires_at = NULL FROM spent WHERE ${byId('d', 'spent.id')} RETURNING d.id
), crashed AS (
  INSERT INTO ${schema}.delivery_attempts (delivery_id, number, started_at, ended_at, outcome, error)
  SELECT id, attempts, lease_expires_at - $3::float8 * interval '1 ms', lease_expires_at, 'crashed', 'crashed'
    FROM head
   WHERE claim_token IS NOT NULL
), claimed AS (
  UPDATE ${schema}.deliveries d
     SET claim_token = $6::uuid, due_at = head.lease_end, lease_expires_at = head.lease_end,
         attempts = d.attempts + 1,
         crashes = d.crashes + CASE WHEN head.claim_token IS NULL THEN 0 ELSE 1 END
    FROM head
   WHERE ${byId('d', 'head.id')}
  RETURNING d.id, d.event_id, d.channel, d.destination, d.recipient, d.payload, d.ordering_key, d.lane, d.attempts,
            d.attempts_at_retry, d.crashes, date_part('epoch', d.created_at) * 1000 AS created_ms,
            d.retried_at, d.deadline,
            (extract(epoch FROM head.due_at) * 1000000)::float8 AS was_due_us, date_part('epoch', clock_timestamp()) * 1000 AS claimed_ms
)
SELECT claimed.*, pass.cursor, pass.more, pass.released
  FROM (SELECT max(ordering_key) AS cursor, coalesce(max(probes) >= $5 OR max(ready) >= $2, false) AS more,
               EXISTS (SELECT 1 FROM released) AS released
          FROM scan) pass
  LEFT JOIN claimed ON true`;

/** Short-circuits: only a head that is due, and has a lane, asks about pauses. */
const ready = (alias: string, schema: string): string =>
  `(CASE WHEN ${alias}.status = 'pending' AND ${alias}.due_at <= now() THEN NOT ${lanePaused(schema, '$1', `${alias}.lane`)} ELSE false END)`;
