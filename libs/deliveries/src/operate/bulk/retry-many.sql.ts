import { byId } from '../../database/by-id';
import { unfinished } from '../../order/unfinished';
import { retryable } from '../match/matching.sql';

/**
 * The single retry, for many. Rows are locked with SKIP LOCKED: neither workers nor clean-up nor another operator ever waits for
 * this statement in a circle, since it waits for nobody. What was locked is `busy`, and is asked for again with a new snapshot: a
 * row that is no longer as it was is then left out.
 *
 * The age restarts now, and the delivery is due within half of its `maxAge`: one that is spread out does not expire before its turn.
 *
 * $1 ids · $2 actor · $3 ids for the events · $4 channels whose cancelled deliveries may be revived · $5 as it was at this instant ·
 * $6 restart the age of those behind · $7 ms to spread over · $8 channels and $9 their maxAge in ms
 */
export const retryManySql = (schema: string): string => `
WITH asked AS (
  SELECT * FROM unnest($1::uuid[], $3::uuid[]) AS a (id, event_id)
), held AS MATERIALIZED (
  SELECT d.id, asked.event_id,
         least($7::float8, limits.max_age / 2, extract(epoch FROM d.deadline - clock_timestamp()) * 1000) AS spread
    FROM asked JOIN ${schema}.deliveries d ON ${byId('d', 'asked.id')}
    LEFT JOIN unnest($8::text[], $9::float8[]) AS limits (channel, max_age) ON limits.channel = d.channel
   WHERE ${retryable('$5', '$4')}
   ORDER BY asked.id
     FOR UPDATE OF d SKIP LOCKED
), retried AS (
  UPDATE ${schema}.deliveries d
     SET status = 'pending',
         due_at = greatest(clock_timestamp() + random() * held.spread * interval '1 ms', d.lease_expires_at),
         lease_expires_at = CASE WHEN d.lease_expires_at > clock_timestamp() THEN d.lease_expires_at END,
         retried_at = clock_timestamp(), settled_at = NULL, attempts_at_retry = d.attempts, crashes = 0
    FROM held
   WHERE ${byId('d', 'held.id')}
  RETURNING d.id, d.channel, d.ordering_key, d.ordinal, held.event_id
), waiting AS MATERIALIZED (
  SELECT d.id, retried.id AS head
    FROM retried JOIN ${schema}.deliveries d
      ON $6::boolean AND d.channel = retried.channel AND d.ordering_key = retried.ordering_key AND d.ordinal > retried.ordinal
     AND ${unfinished('d')} AND d.status = 'pending'
     FOR UPDATE OF d SKIP LOCKED
), behind AS (
  UPDATE ${schema}.deliveries d SET retried_at = clock_timestamp() FROM waiting WHERE ${byId('d', 'waiting.id')}
), remembered AS (
  INSERT INTO ${schema}.events (id, type, payload, actor, delivery_id, audit, occurred_at)
  SELECT event_id, 'delivery_retried',
         jsonb_build_object('channel', channel, 'restartedBehind', (SELECT count(*) FROM waiting WHERE waiting.head = retried.id),
                            'bulk', true),
         $2, id, true, clock_timestamp()
    FROM retried
)
SELECT (SELECT count(*) FROM retried)::integer AS changed,
       ARRAY (SELECT DISTINCT channel FROM retried) AS channels,
       ARRAY (SELECT d.id
                FROM asked JOIN ${schema}.deliveries d ON ${byId('d', 'asked.id')}
               WHERE ${retryable('$5', '$4')} AND d.id NOT IN (SELECT id FROM held)) AS busy`;
