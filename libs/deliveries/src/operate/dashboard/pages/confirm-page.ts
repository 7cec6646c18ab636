import type { BulkCount, BulkOperation, BulkReport } from '../../bulk/bulk-view';
import type { DeliveryConditions } from '../../match/conditions';
import type { DeliveryDetail } from '../../delivery-view';
import { conditionViews } from './conditions';
import { deliveryHref, listHref, queryOf } from './links';
import type { Page } from './page';
import { cappedText, deliveriesText, numberText } from './words';

/** What a page asks before it is done. */
export interface ConfirmModel {
  readonly question: string;
  /** How many, in large. */
  readonly count?: string;
  readonly facts: readonly string[];
  readonly conditions?: readonly { readonly label: string; readonly value: string }[];
  /** Where the answer goes. */
  readonly action: string;
  readonly hidden: readonly { readonly name: string; readonly value: string }[];
  readonly choices: readonly ChoiceView[];
  /** What the button says; without it there is nothing to do. */
  readonly submit?: string;
  readonly tone: '' | 'danger';
  readonly back: string;
  readonly backHref: string;
}

interface ChoiceView {
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string; readonly selected?: boolean }[];
}

const spreads: ChoiceView = {
  name: 'spreadOver',
  label: 'When',
  options: [
    { value: '', label: 'All now' },
    { value: '5m', label: 'Spread over 5 minutes' },
    { value: '1h', label: 'Spread over an hour' },
    { value: '6h', label: 'Spread over 6 hours' },
  ],
};

/** How long a pause lasts, by the value of its field; null is until somebody resumes. In ms. */
export const pauseLengths: Readonly<Record<string, number | null>> = {
  '15m': 900_000,
  '1h': 3_600_000,
  '6h': 21_600_000,
  '1d': 86_400_000,
  resumed: null,
};

const lengths: ChoiceView = {
  name: 'for',
  label: 'For how long',
  options: [
    { value: '15m', label: '15 minutes' },
    { value: '1h', label: 'An hour', selected: true },
    { value: '6h', label: '6 hours' },
    { value: '1d', label: 'A day' },
    { value: 'resumed', label: 'Until somebody resumes it' },
  ],
};

const verbs = { retry: 'Retry', cancel: 'Cancel' } as const;

const bulkFacts = {
  retry: [
    'Counted are those that can be retried: failed ones, and cancelled ones where the status, or a selection, asks for them.',
    'What comes to fit after this count is left alone.',
  ],
  cancel: [
    'Counted are those that can be cancelled: pending and failed ones. What is being sent cannot be recalled.',
    'Those with an ordering key are cancelled for good. What comes to fit after this count is left alone.',
  ],
} as const;

const confirm = (title: string, model: ConfirmModel): Page<ConfirmModel> => ({
  template: 'confirm',
  title,
  nav: 'deliveries',
  model,
});

/** Asks whether to do it to all that fit, and shows how many that are. */
export function bulkConfirmPage(operation: BulkOperation, conditions: DeliveryConditions, counted: BulkCount): Page {
  const verb = verbs[operation];
  const none = counted.count === 0;
  return confirm(`${verb} many`, {
    question: none ? `Nothing to ${operation}` : `${verb} all of these?`,
    count: none ? undefined : cappedText(counted),
    facts: none
      ? [`No delivery fits and can be ${operation === 'retry' ? 'retried' : 'cancelled'}.`]
      : bulkFacts[operation],
    conditions: conditionViews(conditions),
    action: 'deliveries/bulk',
    hidden: [
      ...fields(conditions),
      { name: 'operation', value: operation },
      { name: 'asOf', value: counted.asOf.toISOString() },
    ],
    choices: operation === 'retry' && !none ? [spreads] : [],
    submit: none ? undefined : `${verb} ${deliveriesText(counted)}`,
    tone: operation === 'cancel' ? 'danger' : '',
    back: none ? 'Back to the list' : 'Leave them as they are',
    backHref: listHref({ ...conditions, ids: undefined }),
  });
}

/** A call changes no more than so many; the rest is one more click. */
export function bulkGoesOnPage(
  operation: BulkOperation,
  conditions: DeliveryConditions,
  report: BulkReport,
  given: { readonly asOf: string; readonly spreadOver: string },
): Page {
  const done = operation === 'retry' ? 'retried' : 'cancelled';
  return confirm(`${verbs[operation]} many`, {
    question: 'There are more',
    count: numberText(report.changed),
    facts: [`So many were ${done} by now in this step.`, ...busyFacts(report)],
    conditions: conditionViews(conditions),
    action: 'deliveries/bulk',
    hidden: [
      ...fields(conditions),
      { name: 'operation', value: operation },
      { name: 'asOf', value: given.asOf },
      { name: 'spreadOver', value: given.spreadOver },
      { name: 'after', value: report.next ?? '' },
    ],
    choices: [],
    submit: `${verbs[operation]} the next`,
    tone: operation === 'cancel' ? 'danger' : '',
    back: 'Leave the rest as it is',
    backHref: listHref({ ...conditions, ids: undefined }),
  });
}

const busyFacts = ({ busy }: BulkReport): string[] =>
  busy > 0 ? [`${numberText(busy)} were held by somebody else and left alone.`] : [];

const fields = (conditions: DeliveryConditions) => [...queryOf(conditions)].map(([name, value]) => ({ name, value }));

/** Asks whether to give a delivery up. */
export function cancelConfirmPage(delivery: DeliveryDetail): Page {
  const { id, destination, channel, status, inFlight, orderingKey } = delivery;
  const can = status === 'pending' || status === 'failed';
  const facts = [`${channel}, ${status}${inFlight ? ' and being sent' : ''}.`];
  if (inFlight)
    facts.push('The attempt under way cannot be recalled: it may still arrive. Its outcome will be dropped.');
  if (orderingKey !== null) {
    facts.push(`It has the ordering key ${orderingKey}: it is cancelled for good, and the next of its key is sent.`);
  }
  if (!can) facts.push('It has ended: there is nothing to cancel.');
  return confirm('Cancel a delivery', {
    question: `Cancel the delivery to ${destination}?`,
    facts,
    action: `${deliveryHref(id)}/cancel`,
    hidden: [],
    choices: [],
    submit: can ? 'Cancel it' : undefined,
    tone: 'danger',
    back: 'Leave it as it is',
    backHref: deliveryHref(id),
  });
}

/** Asks for how long to pause. */
export function pauseConfirmPage(channel: string, lane: string | undefined): Page {
  const what = lane === undefined ? `channel ${channel}` : `lane ${lane} of channel ${channel}`;
  return {
    ...confirm('Pause', {
      question: `Pause ${what}?`,
      facts: [
        'Workers of every process leave it alone: what is being sent goes on, nothing more is claimed.',
        'Deliveries are recorded as before and wait. Their age goes on: with a long pause some may reach their maxAge.',
      ],
      action: 'pause',
      hidden: [{ name: 'channel', value: channel }, ...(lane === undefined ? [] : [{ name: 'lane', value: lane }])],
      choices: [lengths],
      submit: 'Pause',
      tone: '',
      back: 'Leave it running',
      backHref: 'overview',
    }),
    nav: 'overview',
  };
}
