import type { EventView } from '../delivery-view';

/** Which events of the audit trail `audit` gives: those that fit everything that is said. */
export interface AuditFilter {
  /** What was done to this delivery. */
  readonly deliveryId?: string;
  readonly actor?: string;
  /** `delivery_retried`, `delivery_cancelled`, `deliveries_abandoned`, `channel_paused` or `channel_resumed`. */
  readonly type?: string;
  /** Events on a page, 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

/** Something that an operator, or clean-up, did. */
export interface AuditEvent extends EventView {
  /** Null for what was done to a channel. */
  readonly deliveryId: string | null;
}

/** A page of the audit trail, newest first. */
export interface AuditPage {
  readonly events: readonly AuditEvent[];
  /** The `after` of the next page; undefined when this is the last. */
  readonly next: string | undefined;
}
