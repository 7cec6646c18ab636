import type { DeliverySummary } from '../../delivery-view';
import type { ChannelStats, ChannelThroughput, Throughput } from '../../overview/overview-view';
import type { PauseView } from '../../pauses/pause-view';
import { attention } from './attention';
import { pauseReason, pauseText } from './pause-text';
import { aboutText, chartView, type ChartRange } from './chart';
import { listHref, pauseHref } from './links';
import { machineryView, type MachineryFacts } from './machinery';
import type { NoticeView, Page } from './page';
import type { StatusView } from './status-view';
import { cappedText, numberText, percentText, timeView } from './words';

export interface OverviewFacts {
  readonly channels: readonly ChannelStats[];
  readonly throughput: Throughput;
  readonly range: ChartRange;
  readonly pauses: readonly PauseView[];
  readonly failures: readonly DeliverySummary[];
  readonly machinery: MachineryFacts;
  /** ms since 1970 */
  readonly now: number;
  readonly notice: NoticeView | undefined;
}

/** How everything stands: first what needs somebody, then the numbers. */
export function overviewPage(facts: OverviewFacts): Page {
  const { channels, throughput, range, pauses, failures, now, notice } = facts;
  const machinery = machineryView(facts.machinery, now);
  const findings = attention({ channels, failures, machinery, now });
  const ended = endedOf(throughput.channels);
  const failed = sumCapped(channels.map((each) => each.failed));
  const pending = sumCapped(channels.map((each) => each.pending));
  const oldest = oldestOf(channels);
  const delivered = aboutText(
    ended.succeeded,
    throughput.channels.some(({ estimated }) => estimated),
  );
  return {
    template: 'overview',
    title: 'Overview',
    nav: 'overview',
    live: true,
    notice,
    model: {
      headline: headlineOf(findings.length),
      subline: `${delivered} delivered in the ${range.text}, ${cappedText(pending)} waiting.`,
      attention: findings,
      tiles: [
        tile('Delivered', delivered, range.text),
        tile('Success', percentText(ended.succeeded, ended.succeeded + ended.failed), range.text),
        tile('Waiting', cappedText(pending), oldest ? `oldest ${timeView(oldest, now).text}` : 'nothing waits', {
          href: listHref({ status: 'pending' }),
        }),
        tile('Being sent', numberText(sumBy(channels, ({ inFlight }) => inFlight)), 'at this moment'),
        tile('Failed', cappedText(failed), failed.count > 0 ? 'wait for a decision' : 'nothing to decide', {
          href: listHref({ status: 'failed' }),
          tone: failed.count > 0 ? 'bad' : '',
        }),
      ],
      chart: chartView(throughput, range),
      channels: channels.map((each) => channelRow(each, throughput.channels, now)),
      pausedLanes: pauses.filter(({ lane }) => lane !== null).map((pause) => laneRow(pause, now)),
      machinery: machinery.rows,
    },
  };
}

function headlineOf(findings: number): string {
  if (findings === 0) return 'All is well';
  return findings === 1 ? 'One thing needs attention' : `${findings} things need attention`;
}

const tile = (
  label: string,
  value: string,
  note: string,
  { href, tone = '' }: { href?: string; tone?: string } = {},
) => ({
  label,
  value,
  note,
  href,
  tone,
});

function channelRow(stats: ChannelStats, throughput: readonly ChannelThroughput[], now: number) {
  const { channel, known, pauses, pausedLanes, pending, failed, inFlight, oldestPendingSince } = stats;
  const ended = endedOf(throughput.filter((each) => each.channel === channel));
  return {
    name: channel,
    href: listHref({ channel }),
    note: known ? undefined : 'No class here declares it',
    state: stateOf(stats),
    pausedText: pausesText(pauses, pausedLanes, now),
    pending: cappedText(pending),
    pendingHref: pending.count > 0 ? listHref({ status: 'pending', channel }) : undefined,
    oldest: oldestPendingSince ? timeView(oldestPendingSince, now).text : '–',
    inFlight: numberText(inFlight),
    failed: cappedText(failed),
    failedHref: failed.count > 0 ? listHref({ status: 'failed', channel }) : undefined,
    success: percentText(ended.succeeded, ended.succeeded + ended.failed),
    resumable: pauses.length > 0,
    pauseHref: pauseHref(channel),
  };
}

function stateOf({ known, pauses, inFlight, due }: ChannelStats): StatusView {
  if (pauses.length > 0) return { name: 'paused', label: 'Paused' };
  if (!known) return { name: 'cancelled', label: 'Unknown' };
  if (inFlight > 0) return { name: 'sending', label: 'Sending' };
  return due > 0 ? { name: 'waiting', label: 'Waiting' } : { name: 'succeeded', label: 'Idle' };
}

function pausesText(pauses: readonly PauseView[], lanes: number, now: number): string | undefined {
  const texts = pauses.map((pause) => pauseText(pause, now));
  if (lanes > 0) texts.push(`${lanes >= 1_000 ? '1,000 or more' : lanes} ${lanes === 1 ? 'lane' : 'lanes'} paused`);
  return texts.length > 0 ? texts.join(' · ') : undefined;
}

const laneRow = (pause: PauseView, now: number) => ({
  key: `${pause.channel} ${pause.lane} ${pause.reason}`,
  channel: pause.channel,
  lane: pause.lane!,
  href: listHref({ channel: pause.channel, lane: pause.lane! }),
  why: pauseReason(pause, now),
  until: pause.until ? timeView(pause.until, now) : undefined,
});

function endedOf(channels: readonly ChannelThroughput[]): { succeeded: number; failed: number } {
  const total = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
  return {
    succeeded: sumBy(channels, ({ succeeded }) => total(succeeded)),
    failed: sumBy(channels, ({ failed }) => total(failed)),
  };
}

const sumBy = <T>(all: readonly T[], of: (each: T) => number): number => all.reduce((sum, each) => sum + of(each), 0);

const sumCapped = (counts: readonly { count: number; capped: boolean }[]) => ({
  count: sumBy(counts, ({ count }) => count),
  capped: counts.some(({ capped }) => capped),
});

function oldestOf(channels: readonly ChannelStats[]): Date | undefined {
  const times = channels.flatMap(({ oldestPendingSince }) =>
    oldestPendingSince ? [oldestPendingSince.getTime()] : [],
  );
  return times.length > 0 ? new Date(Math.min(...times)) : undefined;
}
