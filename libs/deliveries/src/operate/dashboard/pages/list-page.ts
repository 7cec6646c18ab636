import { deliveryStatuses } from '../../../delivery/status';
import type { DeliveryConditions } from '../../match/conditions';
import type { DeliveryFilter } from '../../match/delivery-finder';
import type { DeliveryPage, DeliverySummary } from '../../delivery-view';
import { bulkHref, deliveryHref, listHref, queryOf } from './links';
import { filterForm, presets } from './filter-form';
import { conditionViews } from './conditions';
import type { NoticeView, Page } from './page';
import { statusLabels, statusView } from './status-view';
import { exactText, timeView, type TimeView } from './words';

/** Deliveries on one page: few enough that the ids of all of them, selected, fit into an address. */
export const pageSize = 50;

export interface ListFacts {
  readonly filter: DeliveryFilter;
  readonly page: DeliveryPage;
  /** Channels to choose from. */
  readonly channels: readonly string[];
  /** ms since 1970 */
  readonly now: number;
  readonly notice: NoticeView | undefined;
}

/** A page of deliveries that fit a filter. */
export function listPage({ filter, page, channels, now, notice }: ListFacts): Page {
  const { after, limit: _, ...conditions } = filter;
  const any = Object.keys(conditions).length > 0;
  const rows = page.deliveries.map((delivery) => rowOf(delivery, now));
  return {
    template: 'list',
    title: 'List',
    nav: 'deliveries',
    // Only where new ones arrive: what somebody pages through is not to move under their hands.
    live: after === undefined,
    notice,
    model: {
      tabs: tabs(conditions),
      form: { ...filterForm(conditions, channels), presets: presets(conditions, now) },
      chips: conditionViews(conditions).map(({ key, label, value }) => ({
        label,
        value,
        href: listHref({ ...conditions, [key]: undefined }),
      })),
      bulkAll: any ? bulkAll(conditions) : undefined,
      conditions: hiddenFields(conditions),
      rows,
      shown: shownText(page, rows.length),
      firstHref: after === undefined ? undefined : listHref(conditions),
      nextHref: page.next === undefined ? undefined : listHref({ ...conditions, after: page.next }),
      nextLabel: page.searchedTo ? 'Search further back' : 'Older',
      empty: emptyText(page, any, after !== undefined),
    },
  };
}

function rowOf(delivery: DeliverySummary, now: number) {
  return {
    id: delivery.id,
    href: deliveryHref(delivery.id),
    status: statusView(delivery),
    destination: delivery.destination,
    channel: delivery.channel,
    lane: delivery.lane,
    orderingKey: delivery.orderingKey,
    lastError: delivery.lastError,
    attempts: delivery.attempts,
    created: timeView(delivery.createdAt, now),
    next: nextStep(delivery, now),
  };
}

/** What is going to happen, or has. */
function nextStep(delivery: DeliverySummary, now: number): { words: string; at?: TimeView } {
  const { status, inFlight, dueAt, settledAt } = delivery;
  if (status !== 'pending') return { words: 'Ended', at: settledAt ? timeView(settledAt, now) : undefined };
  if (inFlight) return { words: 'Lease ends', at: timeView(dueAt, now) };
  return { words: 'Due', at: timeView(dueAt, now) };
}

function tabs(conditions: DeliveryConditions) {
  const tab = (status: DeliveryConditions['status'], label: string, icon?: string) => ({
    href: listHref({ ...conditions, status }),
    label,
    icon,
    current: conditions.status === status,
  });
  const icons = { pending: 'waiting', succeeded: 'succeeded', failed: 'failed', cancelled: 'cancelled' };
  return [tab(undefined, 'All'), ...deliveryStatuses.map((status) => tab(status, statusLabels[status], icons[status]))];
}

/** What can be done to deliveries of this status, all pages of them. */
function bulkAll(conditions: DeliveryConditions) {
  const { status } = conditions;
  const can = {
    retry: status === undefined || status === 'failed' || status === 'cancelled',
    cancel: status === undefined || status === 'failed' || status === 'pending',
  };
  return [
    ...(can.retry ? [{ href: bulkHref('retry', conditions), label: 'Retry all…', tone: '' }] : []),
    ...(can.cancel ? [{ href: bulkHref('cancel', conditions), label: 'Cancel all…', tone: 'danger' }] : []),
  ];
}

/** The conditions once more, for the form of those selected: what has come to differ since is left alone. */
const hiddenFields = (conditions: DeliveryConditions) =>
  [...queryOf({ ...conditions, ids: undefined })].map(([name, value]) => ({ name, value }));

function shownText({ searchedTo, next }: DeliveryPage, count: number): string {
  if (searchedTo) return `${count} found back to ${exactText(searchedTo)}`;
  return next === undefined ? `${count} shown, no older ones` : `${count} shown`;
}

function emptyText({ searchedTo }: DeliveryPage, filtered: boolean, paged: boolean) {
  const act = { act: 'Remove all filters', href: listHref() };
  if (searchedTo) {
    return { title: `Nothing found back to ${exactText(searchedTo)}`, text: 'There may be older ones.', ...act };
  }
  if (filtered) return { title: 'Nothing fits', text: 'No delivery fits all of these filters.', ...act };
  if (paged) return { title: 'Nothing older', text: 'That was all.' };
  return { title: 'No delivery yet', text: 'They appear here as soon as the application records one.' };
}
