import { byId } from '../database/by-id';
import { stillPending, unfinished } from '../order/unfinished';
import { channelPaused, lanePaused } from '../pause/paused';

/**
 * Writes a batch of outcomes. One statement, one commit.
 *
 * - The fence is id and token and nothing else. A predicate on the status would let the planner take the partial index
 *   of what is due in the place of the primary key: while a snapshot was held open elsewhere, that made 45 to 85 ms out of
 *   0.8 ms.
 * - Rows are locked in id order, so that two statements that lock several never wait for each other in a circle, and with
 *   SKIP LOCKED, so that a row which somebody holds stalls nothing but itself.
 * - Three answers for each outcome: `settled`; `locked`, which says nothing about the token and is tried again; `gone`,
 *   which is certain: a committed row without this token, and tokens never come back.
 *
 * `next`, the chain: when an ordered delivery succeeded and its worker can go on with the key ($8 is not null), what comes
 * after it is claimed in the same commit, if it is visible, due, unclaimed and not locked. What comes after it in this
 * snapshot really does: whoever recorded something in between committed before the later one could take its ordinal. One
 * that is not visible yet is found by the next claim of heads.
 *
 * What was not settled is counted instead of asked for with EXISTS, which the planner may answer by reading the whole table.
 *
 * Joins only go through indexes, and the answers are put together with NOT IN, which is hashed: the planner knows nothing of
 * the size of a batch, and joined the parts of a batch of 900 with each other in nested loops, for half a second.
 *
 * A channel or a lane that was paused meanwhile ends the chain.
 *
 * The lease goes with the token, unless the channel is still sending ($9): then it stays, so that nothing of the key is sent
 * before it ends, whether the delivery is retried or cancelled meanwhile.
 *
 * $1 ids · $2 tokens · $3 statuses · $4 ms until due again, null unless pending · $5 outcomes of attempts and $6 their
 * errors, null where an attempt needs no row · $7 when the attempts started · $8 ms of lease for the chain, null for none ·
 * $9 whether the channel of an ordered delivery has not returned · $10 token for what the chain claims
 */
export const settleSql = (schema: string): string => `
WITH outcome AS (
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::float8[], $5::text[], $6::text[], $7::timestamptz[],
                       $8::float8[], $9::boolean[]) WITH ORDINALITY
             AS o (id, token, status, due_in, attempt_outcome, error, started_at, chain_lease, still_sending, n)
), held AS MATERIALIZED (
  SELECT o.*
    FROM ${schema}.deliveries d JOIN outcome o ON ${byId('d', 'o.id')} AND o.token = d.claim_token
   ORDER BY o.id
     FOR UPDATE OF d SKIP LOCKED
), settled AS (
  UPDATE ${schema}.deliveries d
     SET status = h.status,
         due_at = CASE WHEN h.due_in IS NULL THEN d.due_at
                       ELSE greatest(clock_timestamp() + h.due_in * interval '1 ms',
                                     CASE WHEN h.still_sending THEN d.lease_expires_at END) END,
         settled_at = CASE WHEN h.due_in IS NULL THEN clock_timestamp() END,
         last_error = CASE WHEN h.status = 'succeeded' THEN NULL ELSE h.error END,
         claim_token = NULL, lease_expires_at = CASE WHEN h.still_sending THEN d.lease_expires_at END
    FROM held h
   WHERE ${byId('d', 'h.id')} AND d.claim_token = h.token
  RETURNING d.id, d.attempts, d.channel, d.ordering_key, d.ordinal, d.status, h.n, h.attempt_outcome, h.error,
            h.started_at, h.chain_lease
), attempt AS (
  INSERT INTO ${schema}.delivery_attempts (delivery_id, number, started_at, ended_at, outcome, error)
  SELECT id, attempts, started_at, clock_timestamp(), attempt_outcome, error FROM settled WHERE attempt_outcome IS NOT NULL
), candidate AS MATERIALIZED (
  SELECT n.id, s.n AS after, s.chain_lease
    FROM settled s CROSS JOIN LATERAL (
      SELECT d.id, d.status, d.due_at, d.claim_token, d.crashes, d.lane
        FROM ${schema}.deliveries d
       WHERE d.channel = s.channel AND ${unfinished('d')} AND d.ordering_key = s.ordering_key AND d.ordinal > s.ordinal
       ORDER BY d.ordinal
       LIMIT 1) n
   WHERE s.chain_lease IS NOT NULL AND s.status = 'succeeded' AND s.ordering_key IS NOT NULL
     AND n.status = 'pending' AND n.due_at <= now() AND n.claim_token IS NULL AND n.crashes = 0
     AND NOT ${channelPaused(schema, 's.channel')} AND NOT ${lanePaused(schema, 's.channel', 'n.lane')}
), follower AS MATERIALIZED (
  SELECT d.id, d.due_at, c.after, clock_timestamp() + c.chain_lease * interval '1 ms' AS lease_end
    FROM candidate c JOIN ${schema}.deliveries d ON ${byId('d', 'c.id')}
   WHERE ${stillPending('d')} AND d.due_at <= now() AND d.claim_token IS NULL
   ORDER BY c.id
     FOR UPDATE OF d SKIP LOCKED
), next AS (
  UPDATE ${schema}.deliveries d
     SET claim_token = $10::uuid, due_at = f.lease_end, lease_expires_at = f.lease_end, attempts = d.attempts + 1
    FROM follower f
   WHERE ${byId('d', 'f.id')}
  RETURNING f.after::integer, d.id, d.event_id, d.channel, d.destination, d.recipient, d.payload, d.ordering_key, d.lane,
            d.attempts, d.attempts_at_retry, d.crashes, date_part('epoch', d.created_at) * 1000 AS created_ms,
            d.retried_at, d.deadline,
            (extract(epoch FROM f.due_at) * 1000000)::float8 AS was_due_us, date_part('epoch', clock_timestamp()) * 1000 AS claimed_ms
)
SELECT 'settled' AS answer, next.* FROM next
 UNION ALL
SELECT 'settled', n::integer, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM settled
 WHERE n NOT IN (SELECT after FROM next)
 UNION ALL
SELECT CASE (SELECT count(*) FROM ${schema}.deliveries d WHERE d.id = o.id AND d.claim_token = o.token)
            WHEN 0 THEN 'gone' ELSE 'locked' END,
       n::integer, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM outcome o
 WHERE n NOT IN (SELECT n FROM settled)`;

/**
 * The same for a batch of plain successes, which most batches are: nothing to write beside the row, and no key to go on with.
 * Cheaper for it. Answers with the ids of those that it settled; of the others the statement above knows more. No id may
 * be in the batch twice.
 *
 * The fence is where the row is locked, and nobody can change the token of a locked row.
 *
 * $1 ids · $2 tokens
 */
export const settleSuccessesSql = (schema: string): string => `
WITH held AS MATERIALIZED (
  SELECT d.id
    FROM (SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS o (id, token) ORDER BY id) o
   CROSS JOIN LATERAL (
      SELECT d.id FROM ${schema}.deliveries d WHERE d.id = o.id AND d.claim_token = o.token FOR UPDATE SKIP LOCKED) d
)
UPDATE ${schema}.deliveries d
   SET status = 'succeeded', settled_at = clock_timestamp(), last_error = NULL, claim_token = NULL, lease_expires_at = NULL
 WHERE d.id = ANY (ARRAY (SELECT id FROM held))
RETURNING d.id`;

/**
 * Whether the outcome of an attempt was written before the connection broke. A plain success is the end of its delivery;
 * every other outcome left the row of its attempt, which stays true when somebody has claimed the delivery again since.
 *
 * $1 id · $2 number of the attempt · $3 outcome of the attempt and $4 its error, null for a plain success
 */
export const wroteBeforeSql = (schema: string): string => `
SELECT CASE
  WHEN $3::text IS NULL THEN EXISTS (
    SELECT 1 FROM ${schema}.deliveries d WHERE d.id = $1 AND d.attempts = $2 AND d.status = 'succeeded')
  ELSE EXISTS (
    SELECT 1 FROM ${schema}.delivery_attempts a
     WHERE a.delivery_id = $1 AND a.number = $2 AND a.outcome = $3 AND a.error = $4)
  END AS wrote`;
