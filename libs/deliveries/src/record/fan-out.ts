import type { EntityManager } from 'typeorm';
import type { ChannelRegistry } from '../channel/channel-registry';
import type { DeliveryEvent } from '../delivery/delivery';
import { DraftQuery } from '../delivery/draft-query';
import { checkDraft, checkDraftList, type CheckedDraft } from './check-draft';
import type { QueryOfEvent } from './query-inserter';

/** What the channels want of one event. */
export interface Wanted {
  readonly drafts: CheckedDraft[];
  readonly queries: Omit<QueryOfEvent, 'eventId'>[];
}

/** Every channel is asked; what they want is checked at once, so that a refusal leaves nothing half-written. */
export async function fanOut(channels: ChannelRegistry, event: DeliveryEvent, tx: EntityManager): Promise<Wanted> {
  const drafts: CheckedDraft[] = [];
  const queries: Wanted['queries'] = [];
  for (const { name, handler } of channels.all()) {
    const wanted: unknown = await handler.deliveries(event, tx);
    if (wanted instanceof DraftQuery) queries.push({ channel: name, query: wanted });
    else for (const draft of checkDraftList(name, wanted)) drafts.push(checkDraft(name, draft));
  }
  return { drafts, queries };
}
