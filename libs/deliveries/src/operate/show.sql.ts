import { unfinished } from '../order/unfinished';

/**
 * One delivery with its attempts, its event and what operators did to it, in one snapshot. `blocked_by` is the head of its key,
 * while that is another one. $1 id
 */
export const showSql = (schema: string): string => `
SELECT d.id, d.event_id, d.channel, d.destination, d.recipient, d.payload, d.lane, d.ordering_key, d.status,
       d.claim_token IS NOT NULL AS in_flight, d.attempts, d.crashes, d.last_error, d.created_at, d.due_at, d.retried_at,
       d.settled_at, d.deadline, d.lease_expires_at,
       (SELECT coalesce(jsonb_agg(to_jsonb(a) - 'delivery_id' ORDER BY a.number), '[]')
          FROM ${schema}.delivery_attempts a WHERE a.delivery_id = d.id) AS attempt_rows,
       (SELECT to_jsonb(e) FROM ${schema}.events e WHERE e.id = d.event_id) AS event,
       (SELECT coalesce(jsonb_agg(to_jsonb(e) ORDER BY e.occurred_at), '[]')
          FROM ${schema}.events e WHERE e.delivery_id = d.id) AS operations,
       (SELECT to_jsonb(b)
          FROM (SELECT h.id, h.status, h.claim_token IS NOT NULL AS in_flight, h.attempts, h.last_error, h.due_at
                  FROM ${schema}.deliveries h
                 WHERE h.channel = d.channel AND h.ordering_key = d.ordering_key AND h.ordinal < d.ordinal
                   AND ${unfinished('h')} AND d.status = 'pending'
                 ORDER BY h.ordinal
                 LIMIT 1) b) AS blocked_by
  FROM ${schema}.deliveries d
 WHERE d.id = $1`;

/** Whether clean-up deleted a delivery when it abandoned its key. $1 id */
export const wasAbandonedSql = (schema: string): string => `
SELECT EXISTS (
  SELECT FROM ${schema}.events e WHERE e.delivery_id = $1 AND e.type = 'deliveries_abandoned') AS abandoned`;
