import type { DeliveryStatus } from '../../../delivery/status';

/** What a badge shows: its name chooses shape and colour. */
export interface StatusView {
  readonly name: 'succeeded' | 'failed' | 'cancelled' | 'sending' | 'retrying' | 'waiting' | 'blocked' | 'paused';
  readonly label: string;
}

export const statusLabels: Readonly<Record<DeliveryStatus, string>> = {
  pending: 'Pending',
  succeeded: 'Succeeded',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/** A pending delivery is being sent, waits for its next attempt after one that did not work, or waits for its first. */
export function statusView(delivery: {
  readonly status: DeliveryStatus;
  readonly inFlight: boolean;
  readonly lastError: string | null;
}): StatusView {
  const { status, inFlight, lastError } = delivery;
  if (status !== 'pending') return { name: status, label: statusLabels[status] };
  if (inFlight) return { name: 'sending', label: 'Being sent' };
  return lastError === null ? { name: 'waiting', label: 'Waiting' } : { name: 'retrying', label: 'Retrying' };
}
