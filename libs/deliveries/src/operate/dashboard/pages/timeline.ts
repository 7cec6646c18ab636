import type { AttemptView, DeliveryDetail, EventView } from '../../delivery-view';
import { deliveryHref } from './links';
import { durationText, timeView, type TimeView } from './words';

export interface MomentView {
  readonly tone: string;
  readonly icon: string;
  readonly title: string;
  readonly code?: string;
  readonly text?: string;
  readonly at: TimeView;
  readonly href?: string;
  readonly act?: string;
}

/** Attempts that a timeline shows; of more, the newest. */
const mostAttempts = 100;

const attemptWords = {
  retried: { tone: 'retrying', icon: 'retrying', words: 'did not work' },
  failed: { tone: 'failed', icon: 'failed', words: 'failed for good' },
  skipped: { tone: 'succeeded', icon: 'succeeded', words: 'had nothing to send' },
  crashed: { tone: 'failed', icon: 'failed', words: 'was lost: its process vanished' },
  cancelled: { tone: 'cancelled', icon: 'cancelled', words: 'was cancelled under way; its outcome was dropped' },
} as const;

const operationWords: Readonly<Record<string, { tone: string; icon: string; words: string }>> = {
  delivery_retried: { tone: 'operator', icon: 'operator', words: 'retried it' },
  delivery_cancelled: { tone: 'operator', icon: 'operator', words: 'cancelled it' },
};

/** What happened to a delivery, from the first to what is next. @param now ms since 1970 */
export function timeline(delivery: DeliveryDetail, now: number): MomentView[] {
  const { attemptRows, operations, event, createdAt } = delivery;
  const left = attemptRows.slice(-mostAttempts);
  const past = [
    ...left.map((row) => ({ at: row.startedAt, moment: attemptMoment(row, now) })),
    ...operations.map((row) => ({ at: row.occurredAt, moment: operationMoment(row, now) })),
  ].toSorted((a, b) => a.at.getTime() - b.at.getTime());
  const recorded: MomentView = {
    tone: 'waiting',
    icon: 'recorded',
    title: event ? `Recorded, because of ${event.type}` : 'Recorded',
    text: event?.actor ? `by ${event.actor}` : undefined,
    at: timeView(createdAt, now),
  };
  return [recorded, ...past.map(({ moment }) => moment), ...ending(delivery, now)];
}

function attemptMoment({ number, startedAt, endedAt, outcome, error }: AttemptView, now: number): MomentView {
  const { tone, icon, words } = attemptWords[outcome];
  return {
    tone,
    icon,
    title: `Attempt ${number} ${words}`,
    code: error,
    text: `took ${durationText(endedAt.getTime() - startedAt.getTime())}`,
    at: timeView(startedAt, now),
  };
}

function operationMoment({ type, actor, occurredAt }: EventView, now: number): MomentView {
  const { tone, icon, words } = operationWords[type] ?? { tone: 'operator', icon: 'operator', words: type };
  return { tone, icon, title: `${actor ?? 'Clean-up'} ${words}`, at: timeView(occurredAt, now) };
}

/** Its end, where no attempt's row says it, or what comes next. */
function ending(delivery: DeliveryDetail, now: number): MomentView[] {
  const { status, inFlight, attempts, settledAt, dueAt, attemptRows, blockedBy } = delivery;
  const last = attemptRows.at(-1);
  if (status === 'succeeded' && settledAt && last?.outcome !== 'skipped') {
    const title = attempts > 0 ? `Attempt ${attempts} succeeded` : 'Succeeded';
    return [{ tone: 'succeeded', icon: 'succeeded', title, at: timeView(settledAt, now) }];
  }
  if (status === 'failed' && settledAt && !(last?.outcome === 'failed' && last.number === attempts)) {
    // Expired, or past its deadline: it ended without an attempt.
    return [
      {
        tone: 'failed',
        icon: 'failed',
        title: 'Failed',
        code: delivery.lastError ?? undefined,
        at: timeView(settledAt, now),
      },
    ];
  }
  if (status !== 'pending') return [];
  if (inFlight) {
    const text = 'The time is when its lease ends: another worker would take it over then.';
    return [
      { tone: 'sending', icon: 'sending', title: `Attempt ${attempts} is under way`, text, at: timeView(dueAt, now) },
    ];
  }
  if (blockedBy) {
    return [
      {
        tone: 'blocked',
        icon: 'blocked',
        title: 'Waits behind an earlier delivery of its key',
        at: timeView(new Date(now), now),
        href: deliveryHref(blockedBy.id),
        act: 'Open the one that blocks it',
      },
    ];
  }
  return [{ tone: 'waiting', icon: 'waiting', title: `Attempt ${attempts + 1} is due`, at: timeView(dueAt, now) }];
}
