import type { AuditFilter } from '../../audit/audit-view';
import type { DeliveryConditions } from '../../match/conditions';
import type { DeliveryFilter } from '../../match/delivery-finder';

// Addresses below the dashboard's own, without a leading slash: the frame puts the way there in front of them.

/** The filter as a query, in the order of its keys, for the address of a list. */
export function queryOf(filter: DeliveryFilter): URLSearchParams {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(filter) as [string, unknown][]) {
    if (Array.isArray(value)) query.set('id', value.join(','));
    else if (value instanceof Date) query.set(key, value.toISOString());
    else if (typeof value === 'string' || typeof value === 'number') query.set(key, String(value));
  }
  return query;
}

const withQuery = (path: string, query: URLSearchParams): string =>
  query.size > 0 ? `${path}?${query.toString()}` : path;

export const listHref = (filter: DeliveryFilter = {}): string => withQuery('deliveries', queryOf(filter));

/** The page that asks whether to do it. */
export function bulkHref(operation: 'retry' | 'cancel', conditions: DeliveryConditions): string {
  const query = queryOf(conditions);
  query.set('operation', operation);
  return withQuery('deliveries/bulk', query);
}

export const deliveryHref = (id: string): string => `deliveries/${encodeURIComponent(id)}`;

export const pauseHref = (channel: string, lane?: string): string =>
  withQuery('pause', new URLSearchParams(lane === undefined ? { channel } : { channel, lane }));

export const auditHref = (filter: AuditFilter): string =>
  withQuery('audit', new URLSearchParams(Object.entries(filter).filter(([, value]) => typeof value === 'string')));
