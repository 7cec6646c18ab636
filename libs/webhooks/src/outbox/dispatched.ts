import type { DeliveredByHand } from 'nest-deliveries';
import { WebhookAcknowledgementError, WebhookClaimLostError } from '../errors';
import { messageIdOf } from '../sign/names';

/** What `dispatchNext` did. */
export type Dispatched =
  /** Nothing was due. */
  | { readonly type: 'idle' }
  /** The receiver answered with a 2xx; with an offline key nothing was sent. */
  | { readonly type: 'accepted'; readonly id: string; readonly offline: boolean }
  /** It will be tried again. `code` is a status or a kind of error. */
  | { readonly type: 'retryScheduled'; readonly id: string; readonly code: string }
  /** It ended. */
  | { readonly type: 'failed'; readonly id: string; readonly code: string };

/**
 * @param status what the receiver answered when it accepted; undefined when it did not
 * @throws WebhookAcknowledgementError, WebhookClaimLostError when it could not be written down
 */
export function dispatchedOf(
  delivered: DeliveredByHand | undefined,
  offline: boolean,
  status: number | undefined,
): Dispatched {
  if (!delivered) return { type: 'idle' };
  const { settlement, result } = delivered;
  const id = messageIdOf(delivered.delivery.id);
  if (result !== 'settled' || !settlement) {
    throw status === undefined ? new WebhookClaimLostError(id) : new WebhookAcknowledgementError(id, status);
  }
  switch (settlement.status) {
    case 'succeeded':
      return { type: 'accepted', id, offline };
    case 'pending':
      return { type: 'retryScheduled', id, code: settlement.attempt.error };
    case 'failed':
      return { type: 'failed', id, code: settlement.attempt.error };
  }
}
