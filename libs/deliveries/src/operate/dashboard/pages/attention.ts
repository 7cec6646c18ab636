import type { DeliverySummary } from '../../delivery-view';
import type { ChannelStats } from '../../overview/overview-view';
import { listHref } from './links';
import type { Machinery } from './machinery';
import type { NoticeView } from './page';
import { pauseText } from './pause-text';
import { cappedText, deliveriesText, timeView } from './words';

/** A due delivery that has waited for that long, in ms, is late: workers look every second. */
const late = 10 * 60_000;

export interface AttentionFacts {
  readonly channels: readonly ChannelStats[];
  /** Newest failures, for what to say of them. */
  readonly failures: readonly DeliverySummary[];
  readonly machinery: Machinery;
  /** ms since 1970 */
  readonly now: number;
}

/** What somebody who was woken should look at, worst first. */
export function attention({ channels, failures, machinery, now }: AttentionFacts): NoticeView[] {
  const found = [
    ...channels.flatMap((channel) => [
      ...pausedFindings(channel, now),
      ...failedFindings(channel, failures),
      ...waitingFindings(channel, now),
    ]),
    ...machineryFindings(machinery),
  ];
  const order = ['bad', 'warn', 'calm', 'good'];
  return found.toSorted((a, b) => order.indexOf(a.tone) - order.indexOf(b.tone));
}

function failedFindings({ channel, failed }: ChannelStats, failures: readonly DeliverySummary[]): NoticeView[] {
  if (failed.count === 0) return [];
  const kind = mostFrequent(failures.filter((each) => each.channel === channel).map(({ lastError }) => lastError));
  const text = kind === undefined ? undefined : `Of the newest, most ended with ${kind}.`;
  return [
    {
      tone: 'bad',
      icon: 'failed',
      role: 'note',
      title: `${channel}: ${deliveriesText(failed)} failed`,
      text,
      href: listHref({ status: 'failed', channel }),
      act: 'Look at them',
    },
  ];
}

function waitingFindings(stats: ChannelStats, now: number): NoticeView[] {
  const { channel, known, pending, due, inFlight, oldestPendingSince, pauses, failed } = stats;
  if (pending.count === 0 || pauses.length > 0 || oldestPendingSince === null) return [];
  const look = { href: listHref({ status: 'pending', channel }), act: 'Look at them', role: 'note' } as const;
  const waiting = `${cappedText(pending)} waiting, the oldest since ${timeView(oldestPendingSince, now).text.replace(' ago', '')}`;
  if (!known) {
    const text =
      'They wait for a process that declares the channel. Is a deployment under way, or was the class removed?';
    return [{ tone: 'warn', icon: 'waiting', title: `${channel}: not known here, ${waiting}`, text, ...look }];
  }
  if (due === 0 || now - oldestPendingSince.getTime() < late) return [];
  if (inFlight > 0) {
    return [
      {
        tone: 'warn',
        icon: 'waiting',
        title: `${channel}: behind, ${waiting}`,
        text: 'They are being sent, slower than they come, or a receiver makes its own wait.',
        ...look,
      },
    ];
  }
  const text =
    failed.count > 0
      ? 'None is being sent. Those with an ordering key may wait behind one that failed: open one to see what blocks it.'
      : 'None is being sent. Does a process with workers of this channel run?';
  return [{ tone: 'bad', icon: 'waiting', title: `${channel}: stuck, ${waiting}`, text, ...look }];
}

function pausedFindings({ channel, pauses }: ChannelStats, now: number): NoticeView[] {
  return pauses.map((pause) => ({
    tone: pause.reason === 'operator' || pause.reason === 'retry_after' ? ('warn' as const) : ('bad' as const),
    icon: 'paused',
    role: 'note' as const,
    title: `${channel}: paused`,
    text: pauseText(pause, now),
    href: 'overview#channels',
    act: 'Resume below',
  }));
}

function machineryFindings({ wakeUps, cleanUp }: Machinery): NoticeView[] {
  const found: NoticeView[] = [];
  if (wakeUps === 'deaf') {
    found.push({
      tone: 'warn',
      icon: 'info',
      role: 'note',
      title: 'Notifications do not arrive',
      text: 'Polling serves: nothing is lost, and each new delivery waits up to one poll. A transaction pooler may be in between.',
      href: undefined,
      act: undefined,
    });
  }
  if (cleanUp.state === 'late') {
    found.push({
      tone: 'warn',
      icon: 'info',
      role: 'note',
      title: 'Clean-up has not run here for a while',
      text: cleanUp.text,
      href: undefined,
      act: undefined,
    });
  }
  return found;
}

function mostFrequent(kinds: readonly (string | null)[]): string | undefined {
  const counts = new Map<string, number>();
  for (const kind of kinds) if (kind !== null) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0];
}
