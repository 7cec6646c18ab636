import { v7 as uuidv7 } from 'uuid';
import { claimPathOf, type DueWork } from '../delivery/claim-path';
import type { CheckedDraft, CheckedEvent } from './check-draft';
import type { NewDelivery, NewEvent } from './delivery-inserter';

/** The event of deliveries that were enqueued without one. */
export const enqueued = (channel: string): CheckedEvent => ({
  type: 'delivery_enqueued',
  payload: JSON.stringify({ channel }),
  actor: null,
});

/** What waits for a time of its own wakes nobody. */
export const dueAtOnce = (deliveries: readonly NewDelivery[]): DueWork[] =>
  deliveries.flatMap(({ draft: { channel, orderingKey, lane, notBefore }, recorded }) =>
    notBefore === null && recorded.state !== 'duplicate'
      ? [{ channel, path: claimPathOf(orderingKey, lane), count: 1 }]
      : [],
  );

export const isKeyed = ({ draft }: NewDelivery): boolean => draft.orderingKey !== null || draft.dedupeKey !== null;

/** Events with the ids of what they cause, which clean-up asks for; a duplicate is not caused by its event. */
export function withDeliveryIds(events: Omit<NewEvent, 'deliveryIds'>[], deliveries: NewDelivery[]): NewEvent[] {
  const caused = new Map(events.map(({ id }) => [id, [] as string[]]));
  for (const { id, eventId, recorded } of deliveries) {
    if (recorded.state !== 'duplicate') caused.get(eventId)?.push(id);
  }
  return events.map((event) => ({ ...event, deliveryIds: caused.get(event.id)! }));
}

export function newDelivery(eventId: string, draft: CheckedDraft): NewDelivery {
  const id = draft.id ?? uuidv7();
  return { id, eventId, draft, ordinal: null, recorded: { id, channel: draft.channel, state: 'deferred' } };
}
