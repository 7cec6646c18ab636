import type { AccountFacts } from './account-facts';
import type { Arrival } from './receiver';
import type { WebhookFacts } from './webhook-facts';

/** A delivery that must arrive: an account, and a partner that was registered when it was created. */
export interface Promised {
  readonly handle: string;
  readonly partner: string;
}

/** A delivery as the database has it. */
export interface StoredDelivery {
  readonly id: string;
  readonly handle: string;
  readonly partner: string;
  readonly status: string;
  readonly attempts: number;
  /** What the attempts that did not succeed came to, in order. */
  readonly errors: readonly string[];
}

/** All that is known when the curtain falls. */
export interface Facts {
  /** By transactions that committed. */
  readonly promised: readonly Promised[];
  /** Handles of accounts whose transaction was rolled back. */
  readonly rolledBack: readonly string[];
  readonly deliveries: readonly StoredDelivery[];
  readonly arrivals: readonly Arrival[];
  /** The account whose first delivery was sent by a replica that was then killed. */
  readonly killed: string;
  /** The account whose first delivery was sent by a replica that was then frozen. */
  readonly frozen: string;
  /** Outcomes that the frozen replica wanted to write too late, and that were dropped. */
  readonly leaseLost: number;
  /** How long, in ms, the moody receiver asked to be left alone. */
  readonly retryAfter: number;
  readonly accounts: AccountFacts;
  readonly webhooks: WebhookFacts;
}

/** The deliveries to partners of this database, oldest first. */
export const deliveriesSql = `
SELECT d.id, d.status, d.attempts, d.payload->'body'->>'handle' AS handle, substr(d.destination, 9) AS partner,
       ARRAY(SELECT a.error FROM deliveries.delivery_attempts a WHERE a.delivery_id = d.id ORDER BY a.number) AS errors
  FROM deliveries.deliveries d
 WHERE d.channel = 'partner_notification'
 ORDER BY d.id`;
