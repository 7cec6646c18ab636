import { deliveryStatuses } from '../../../delivery/status';
import type { DeliveryConditions } from '../../match/conditions';
import { statusLabels } from './status-view';
import { exactText, numberText } from './words';

const labels = {
  status: 'Status',
  channel: 'Channel',
  lane: 'Lane',
  orderingKey: 'Key',
  destination: 'Destination',
  error: 'Error',
  createdAfter: 'Created from',
  createdBefore: 'Created before',
  olderThan: 'Older than',
  newerThan: 'Newer than',
  ids: 'Selected',
} as const satisfies Record<keyof DeliveryConditions, string>;

export interface ConditionView {
  readonly key: keyof DeliveryConditions;
  readonly label: string;
  readonly value: string;
}

/** The conditions in words, those that are said. */
export function conditionViews(conditions: DeliveryConditions): ConditionView[] {
  return (Object.keys(labels) as (keyof DeliveryConditions)[])
    .filter((key) => conditions[key] !== undefined)
    .map((key) => ({ key, label: labels[key], value: valueText(key, conditions) }));
}

function valueText(key: keyof DeliveryConditions, conditions: DeliveryConditions): string {
  const value = conditions[key];
  if (value instanceof Date) return exactText(value);
  if (Array.isArray(value)) return numberText(value.length);
  const status = key === 'status' && deliveryStatuses.find((known) => known === value);
  return status ? statusLabels[status] : String(value);
}
