import { unfinished } from '../order/unfinished';

/**
 * What a claim might find: an idle worker's poll asks this, instead of making three claims for nothing. Of lanes and keys it
 * says only whether there are any, since which of them is due is what their claims find out.
 *
 * $1 channel
 */
export const waitingSql = (schema: string): string => `
SELECT EXISTS (SELECT 1 FROM ${schema}.deliveries d
                WHERE d.channel = $1 AND d.status = 'pending' AND d.ordering_key IS NULL AND d.lane = ''
                  AND d.due_at <= now()) AS plain,
       EXISTS (SELECT 1 FROM ${schema}.deliveries d
                WHERE d.channel = $1 AND d.status = 'pending' AND d.ordering_key IS NULL AND d.lane <> '') AS lane,
       EXISTS (SELECT 1 FROM ${schema}.deliveries d WHERE d.channel = $1 AND ${unfinished('d')}) AS ordered`;
