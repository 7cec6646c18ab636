import type { DeliveryDetail } from '../../delivery-view';
import type { PauseView } from '../../pauses/pause-view';
import { deliveryHref, listHref } from './links';
import type { NoticeView, Page } from './page';
import { pauseText } from './pause-text';
import { statusView } from './status-view';
import { timeline } from './timeline';
import { numberText, timeView, type TimeView } from './words';

export interface DetailFacts {
  readonly delivery: DeliveryDetail;
  /** Payload and recipient may be shown. */
  readonly canSeePayload: boolean;
  /** Pauses of its channel, and of its lane. */
  readonly pauses: readonly PauseView[];
  /** ms since 1970 */
  readonly now: number;
  readonly notice: NoticeView | undefined;
}

/** One delivery: what it is, what happened to it, what holds it back and what can be done. */
export function detailPage({ delivery, canSeePayload, pauses, now, notice }: DetailFacts): Page {
  const { id, status, orderingKey, channel, destination, attempts } = delivery;
  const blocked = delivery.blockedBy !== null;
  return {
    template: 'detail',
    title: `${destination}: ${statusView(delivery).label}`,
    nav: 'deliveries',
    live: true,
    notice,
    model: {
      href: deliveryHref(id),
      channel,
      channelHref: listHref({ channel }),
      destination,
      status: blocked ? { name: 'blocked', label: 'Blocked' } : statusView(delivery),
      sentence: sentenceOf(delivery, now),
      canRetry: status === 'failed' || (status === 'cancelled' && orderingKey === null),
      canCancel: status === 'pending' || status === 'failed',
      waitsBehind: status === 'failed' && orderingKey !== null,
      notices: noticesOf(delivery, pauses, now),
      timeline: timeline(delivery, now),
      attemptsText: attempts === 1 ? '1 attempt' : `${numberText(attempts)} attempts`,
      payload: canSeePayload ? JSON.stringify(delivery.payload, null, 2) : undefined,
      payloadHidden: 'Hidden. Your application decides who may see it (canSeePayload).',
      facts: factsOf(delivery, canSeePayload, now),
      event: delivery.event && {
        id: delivery.event.id,
        type: delivery.event.type,
        actor: delivery.event.actor ?? '–',
        at: timeView(delivery.event.occurredAt, now),
        payload: canSeePayload ? JSON.stringify(delivery.event.payload, null, 2) : undefined,
      },
    },
  };
}

function sentenceOf(delivery: DeliveryDetail, now: number): { words: string; at?: TimeView; rest?: string } {
  const { status, inFlight, attempts, dueAt, settledAt, blockedBy } = delivery;
  const ended = settledAt ? timeView(settledAt, now) : undefined;
  if (status === 'succeeded') return { words: 'Done', at: ended };
  if (status === 'failed')
    return { words: 'Failed', at: ended, rest: '; nothing more is sent until somebody retries it.' };
  if (status === 'cancelled') return { words: 'Given up', at: ended };
  if (inFlight) return { words: `Attempt ${attempts} is under way` };
  if (blockedBy) return { words: 'Waits behind an earlier delivery of its key' };
  return { words: `Attempt ${attempts + 1} is due`, at: timeView(dueAt, now) };
}

function noticesOf(delivery: DeliveryDetail, pauses: readonly PauseView[], now: number): NoticeView[] {
  const { status, blockedBy, orderingKey, channel } = delivery;
  const notices: NoticeView[] = [];
  if (blockedBy) {
    const state = statusView(blockedBy);
    const error = blockedBy.lastError === null ? '' : `, last error ${blockedBy.lastError}`;
    notices.push({
      tone: 'warn',
      icon: 'blocked',
      role: 'note',
      title: 'Blocked by an earlier delivery of its key',
      text: `That one: ${state.label.toLowerCase()}${error}. This one is sent when that one has succeeded, if need be after a retry, or was cancelled.`,
      href: deliveryHref(blockedBy.id),
      act: 'Open it',
    });
  }
  if (status === 'failed' && orderingKey !== null) {
    notices.push({
      tone: 'warn',
      icon: 'blocked',
      role: 'note',
      title: `It holds back the rest of its key ${orderingKey}`,
      text: 'Retry it to keep the order, or cancel it to let the next one go.',
      href: listHref({ channel, orderingKey }),
      act: 'Show the key',
    });
  }
  if (status === 'pending') {
    for (const pause of pauses) {
      notices.push({
        tone: 'warn',
        icon: 'paused',
        role: 'note',
        title: pause.lane === null ? `Channel ${pause.channel} is paused` : `Lane ${pause.lane} is paused`,
        text: pauseText(pause, now),
        href: 'overview',
        act: 'Resume on the overview',
      });
    }
  }
  return notices;
}

interface Fact {
  readonly label: string;
  readonly text?: string;
  readonly code?: string;
  readonly at?: TimeView;
  readonly href?: string;
}

function factsOf(delivery: DeliveryDetail, canSeePayload: boolean, now: number): Fact[] {
  const { id, lane, orderingKey, channel, lastError, crashes, createdAt, retriedAt, settledAt, deadline } = delivery;
  const at = (label: string, time: Date | null): Fact[] => (time ? [{ label, at: timeView(time, now) }] : []);
  return [
    { label: 'Id', code: id },
    ...(orderingKey === null ? [] : [{ label: 'Key', code: orderingKey, href: listHref({ channel, orderingKey }) }]),
    ...(lane === null ? [] : [{ label: 'Lane', code: lane, href: listHref({ channel, lane }) }]),
    ...(lastError === null
      ? []
      : [{ label: 'Last error', code: lastError, href: listHref({ channel, error: lastError }) }]),
    ...(crashes > 0 ? [{ label: 'Crashes', text: `${crashes}: processes that vanished while they sent it` }] : []),
    ...at('Created', createdAt),
    ...at('Retried', retriedAt),
    ...at('Ended', settledAt),
    ...at('Deadline', deadline),
    recipientFact(delivery.recipient, canSeePayload),
  ];
}

function recipientFact(recipient: unknown, canSeePayload: boolean): Fact {
  if (!canSeePayload) return { label: 'Recipient', text: 'hidden' };
  return recipient === null
    ? { label: 'Recipient', text: 'none recorded' }
    : { label: 'Recipient', code: JSON.stringify(recipient) };
}
