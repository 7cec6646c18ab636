import type { DeliveryConditions } from '../../match/conditions';
import { listHref, queryOf } from './links';

const texts = [
  { name: 'error', label: 'Last error', placeholder: '503' },
  { name: 'destination', label: 'Destination', placeholder: 'exactly as it is shown' },
  { name: 'orderingKey', label: 'Ordering key', placeholder: '' },
  { name: 'lane', label: 'Lane', placeholder: '' },
] as const;

const day = 86_400_000;

/** What the fields of the filter hold. */
export function filterForm(conditions: DeliveryConditions, channels: readonly string[]) {
  const { status, channel, newerThan, olderThan } = conditions;
  // A channel that is asked for and not known stays in the list, or applying the form again would drop it.
  const names = channel === undefined || channels.includes(channel) ? channels : [...channels, channel];
  return {
    // What has no field of its own goes along unseen.
    hidden: [...queryOf({ status, newerThan, olderThan })].map(([name, value]) => ({ name, value })),
    channels: names.map((name) => ({ name, selected: name === channel })),
    texts: texts.map((text) => ({ ...text, value: conditions[text.name] ?? '' })),
    createdAfter: fieldText(conditions.createdAfter),
    createdBefore: fieldText(conditions.createdBefore),
  };
}

/** What is asked for most often, as links; days are those of UTC. */
export function presets(conditions: DeliveryConditions, now: number) {
  const { createdAfter: _after, createdBefore: _before, newerThan: _newer, olderThan: _older, ...others } = conditions;
  const today = Math.floor(now / day) * day;
  return [
    { label: 'in the last hour', href: listHref({ ...others, newerThan: '1h' }) },
    { label: 'today', href: listHref({ ...others, createdAfter: new Date(today) }) },
    {
      label: 'yesterday',
      href: listHref({ ...others, createdAfter: new Date(today - day), createdBefore: new Date(today) }),
    },
    { label: 'in the last 7 days', href: listHref({ ...others, newerThan: '7d' }) },
  ];
}

/** As a field for a time holds it; seconds only where there are any. */
function fieldText(at: Date | undefined): string {
  if (at === undefined) return '';
  const iso = at.toISOString();
  return iso.endsWith(':00.000Z') ? iso.slice(0, 16) : iso.slice(0, 23);
}
