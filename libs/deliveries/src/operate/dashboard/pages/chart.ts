import type { Throughput } from '../../overview/overview-view';
import { durationText, numberText } from './words';

/** Outcomes in the order in which they are stacked; those that a bar of one colour could hide in are hatched. */
const outcomes = [
  { kind: 'succeeded', label: 'Succeeded', hatched: false },
  { kind: 'failed', label: 'Failed', hatched: true },
  { kind: 'cancelled', label: 'Cancelled', hatched: false },
] as const;

type Counts = Readonly<Record<(typeof outcomes)[number]['kind'], number>>;

/** How far back the chart can reach; the first is shown when nothing is said. */
export const chartRanges = [
  { window: '1h', label: '1 h', text: 'last hour' },
  { window: '6h', label: '6 h', text: 'last 6 hours' },
  { window: '24h', label: '24 h', text: 'last 24 hours' },
  { window: '7d', label: '7 d', text: 'last 7 days' },
] as const;

export type ChartRange = (typeof chartRanges)[number];

/** Units of the drawing, which is stretched to the width that there is. */
const width = 720;
const height = 180;

/** All channels' numbers as bars. */
export function chartView(throughput: Throughput, range: ChartRange) {
  const { buckets, bucketMs, channels } = throughput;
  const counts = buckets.map((_, at) => countsAt(throughput, at));
  const totals = sumOf(counts);
  const top = niceTop(Math.max(0, ...counts.map((each) => sum(each))));
  const estimated = channels.some((channel) => channel.estimated);
  const step = width / Math.max(1, buckets.length);
  return {
    width,
    height,
    ranges: chartRanges.map(({ window, label }) => ({
      label,
      href: `overview?window=${window}`,
      current: window === range.window,
    })),
    rangeText: range.text,
    legend: outcomes.map((outcome) => ({ ...outcome, total: aboutText(totals[outcome.kind], estimated) })),
    summary: `Deliveries that ended in the ${range.text}: ${wordsOf(totals)}${estimated ? ', in part estimated' : ''}`,
    estimated,
    nothing: totals.succeeded + totals.failed + totals.cancelled === 0,
    ticks: [top, top / 2, 0].map((value) => numberText(value)),
    grid: [0, height / 2, height],
    bars: counts.map((each, at) => {
      const place = { x: round(at * step + step * 0.1), width: round(step * 0.8) };
      return {
        ...place,
        parts: stack(each, top).map((part) => ({ ...part, ...place })),
        label: `${spanText(buckets[at]!, bucketMs)}: ${wordsOf(each)}`,
      };
    }),
    times: [0, 0.5, 1].map((part) => instantText(throughput, part)),
    rows: counts
      .map((each, at) => ({
        from: clockText(buckets[at]!, true),
        counts: outcomes.map(({ kind }) => numberText(each[kind])),
      }))
      .toReversed(),
  };
}

/** A number of which a part was projected says so. */
export const aboutText = (value: number, estimated: boolean): string =>
  `${estimated && value > 0 ? '≈ ' : ''}${numberText(value)}`;

function countsAt({ channels }: Throughput, at: number): Counts {
  const of = (kind: keyof Counts): number => channels.reduce((total, channel) => total + (channel[kind][at] ?? 0), 0);
  return { succeeded: of('succeeded'), failed: of('failed'), cancelled: of('cancelled') };
}

const sumOf = (all: readonly Counts[]): Counts => ({
  succeeded: all.reduce((total, each) => total + each.succeeded, 0),
  failed: all.reduce((total, each) => total + each.failed, 0),
  cancelled: all.reduce((total, each) => total + each.cancelled, 0),
});

const sum = ({ succeeded, failed, cancelled }: Counts): number => succeeded + failed + cancelled;

const wordsOf = ({ succeeded, failed, cancelled }: Counts): string =>
  `${numberText(succeeded)} succeeded, ${numberText(failed)} failed, ${numberText(cancelled)} cancelled`;

/** The parts of a bar from the bottom up. What is there is at least two units high: one failure among thousands is seen. */
function stack(counts: Counts, top: number) {
  let floor = height;
  return outcomes
    .filter(({ kind }) => counts[kind] > 0)
    .map(({ kind, hatched }) => {
      const tall = Math.max(2, (counts[kind] / top) * height);
      floor -= tall;
      return { kind, hatched, y: round(Math.max(0, floor)), height: round(tall) };
    });
}

/** The next number above whose half is whole as well: 2, 4, 6, 8, 10, 20, 30 … 100, 200 … */
export function niceTop(most: number): number {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, most))));
  const factors = power === 1 ? [2, 4, 6, 8, 10] : [1, 2, 3, 4, 5, 6, 8, 10];
  return (factors.find((each) => each * power >= most) ?? 10) * power;
}

const round = (value: number): number => Math.round(value * 100) / 100;

const clockText = (at: Date, withDay: boolean): string =>
  at
    .toISOString()
    .slice(withDay ? 5 : 11, 16)
    .replace('T', ' ');

const spanText = (from: Date, bucketMs: number): string =>
  `${clockText(from, bucketMs >= 3_600_000)} UTC, ${durationText(bucketMs)}`;

function instantText({ since, until, bucketMs }: Throughput, part: number): string {
  const at = new Date(since.getTime() + (until.getTime() - since.getTime()) * part);
  return part === 1 ? 'now' : `${clockText(at, bucketMs >= 3_600_000)} UTC`;
}
