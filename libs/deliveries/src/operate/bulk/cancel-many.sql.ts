import { byId } from '../../database/by-id';
import { cancellable } from '../match/matching.sql';

/**
 * The single cancel, for many: what it says of attempts in flight holds here. Waits for nobody; see `retry-many.sql.ts`.
 *
 * $1 ids · $2 actor · $3 ids for the events · $4 as it was at this instant · $5 channels and $6 their leases in ms
 */
export const cancelManySql = (schema: string): string => `
WITH asked AS (
  SELECT * FROM unnest($1::uuid[], $3::uuid[]) AS a (id, event_id)
), held AS MATERIALIZED (
  SELECT d.id, d.channel, d.status, d.claim_token, d.lease_expires_at, d.attempts, asked.event_id
    FROM asked JOIN ${schema}.deliveries d ON ${byId('d', 'asked.id')}
   WHERE ${cancellable('$4')}
   ORDER BY asked.id
     FOR UPDATE OF d SKIP LOCKED
), cancelled AS (
  UPDATE ${schema}.deliveries d
     SET status = 'cancelled', settled_at = clock_timestamp(), claim_token = NULL,
         lease_expires_at = CASE WHEN d.lease_expires_at > clock_timestamp() THEN d.lease_expires_at END
    FROM held
   WHERE ${byId('d', 'held.id')}
  RETURNING d.id, d.channel, d.ordering_key
), attempt AS (
  INSERT INTO ${schema}.delivery_attempts (delivery_id, number, started_at, ended_at, outcome, error)
  SELECT held.id, held.attempts,
         least(clock_timestamp(), held.lease_expires_at - coalesce(lease.ms, 0) * interval '1 ms'),
         least(clock_timestamp(), held.lease_expires_at), ended.how, ended.how
    FROM held
    LEFT JOIN unnest($5::text[], $6::float8[]) AS lease (channel, ms) ON lease.channel = held.channel
   CROSS JOIN LATERAL (
      SELECT CASE WHEN held.lease_expires_at > clock_timestamp() THEN 'cancelled' ELSE 'crashed' END AS how) ended
   WHERE held.claim_token IS NOT NULL
), remembered AS (
  INSERT INTO ${schema}.events (id, type, payload, actor, delivery_id, audit, occurred_at)
  SELECT event_id, 'delivery_cancelled',
         jsonb_build_object('channel', channel, 'was', status, 'inFlight', claim_token IS NOT NULL, 'bulk', true), $2, id, true,
         clock_timestamp()
    FROM held
)
SELECT (SELECT count(*) FROM cancelled)::integer AS changed,
       ARRAY (SELECT DISTINCT channel FROM cancelled WHERE ordering_key IS NOT NULL) AS channels,
       ARRAY (SELECT d.id
                FROM asked JOIN ${schema}.deliveries d ON ${byId('d', 'asked.id')}
               WHERE ${cancellable('$4')} AND d.id NOT IN (SELECT id FROM held)) AS busy`;
