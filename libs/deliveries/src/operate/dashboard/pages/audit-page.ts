import type { AuditEvent, AuditFilter, AuditPage } from '../../audit/audit-view';
import { auditHref, deliveryHref, listHref } from './links';
import type { Page } from './page';
import { exactText, timeView } from './words';

const types = {
  delivery_retried: 'Retried a delivery',
  delivery_cancelled: 'Cancelled a delivery',
  deliveries_abandoned: 'Abandoned a key',
  channel_paused: 'Paused',
  channel_resumed: 'Resumed',
} as const;

export interface AuditFacts {
  readonly filter: AuditFilter;
  readonly page: AuditPage;
  /** ms since 1970 */
  readonly now: number;
}

/** The audit trail. */
export function auditPage({ filter, page, now }: AuditFacts): Page {
  const { after, limit: _, ...conditions } = filter;
  const filtered = Object.keys(conditions).length > 0;
  return {
    template: 'audit',
    title: 'Audit',
    nav: 'audit',
    live: after === undefined,
    model: {
      form: {
        actor: conditions.actor ?? '',
        deliveryId: conditions.deliveryId ?? '',
        types: Object.entries(types).map(([value, label]) => ({ value, label, selected: value === conditions.type })),
      },
      rows: page.events.map((event) => rowOf(event, now)),
      paged: page.events.length > 0 || after !== undefined,
      shown: `${page.events.length} shown${page.next === undefined ? ', no older ones' : ''}`,
      firstHref: after === undefined ? undefined : auditHref(conditions),
      nextHref: page.next === undefined ? undefined : auditHref({ ...conditions, after: page.next }),
      empty: filtered
        ? { title: 'Nothing fits', text: 'Nothing that was done fits all of this.' }
        : {
            title: 'Nothing was done yet',
            text: 'Every retry, cancel, pause and resume will be listed here, with who did it.',
          },
    },
  };
}

function rowOf({ id, type, actor, occurredAt, deliveryId, payload }: AuditEvent, now: number) {
  const about = (typeof payload === 'object' && payload !== null ? payload : {}) as Record<string, unknown>;
  const channel = typeof about.channel === 'string' ? about.channel : undefined;
  const lane = typeof about.lane === 'string' ? about.lane : undefined;
  return {
    id,
    at: timeView(occurredAt, now),
    actor: actor ?? 'Clean-up',
    title: (types as Record<string, string>)[type] ?? type,
    subject: deliveryId ?? `${channel ?? '–'}${lane === undefined ? '' : `, lane ${lane}`}`,
    href: deliveryId ? deliveryHref(deliveryId) : channel && listHref({ channel, lane }),
    details: detailsText(about),
  };
}

/** What else the event says, such as `channel email, was failed`. */
function detailsText(about: Record<string, unknown>): string {
  const parts = Object.entries(about)
    .filter(([, value]) => value !== null && value !== false && value !== 0 && typeof value !== 'object')
    .map(([key, value]) => (value === true ? wordsOf(key) : `${wordsOf(key)} ${valueText(value)}`));
  return parts.length > 0 ? parts.join(', ') : '–';
}

/** An instant, as JSON has it, as pages show instants. */
function valueText(value: unknown): string {
  const text = String(value);
  const at = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : NaN;
  // A lane may be named like anything.
  return Number.isNaN(at) ? text : exactText(new Date(at));
}

/** `restartedBehind` as `restarted behind`. */
const wordsOf = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
