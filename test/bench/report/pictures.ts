import type { Measurement } from '../part';
import { curves } from '../parts/curves';
import { latencyLine } from '../parts/latency';
import { percents } from '../queue/delays';
import { grouped } from './grouped';
import { flameGraph } from './svg/flame-graph';
import { lineChart, type Series } from './svg/line-chart';
import type { Result } from './result';

export interface Picture {
  readonly file: string;
  /** What is to be seen, for whoever cannot. */
  readonly alt: string;
  readonly content: string;
}

/** Those for which the result has figures. */
export function picturesOf({ measured, profile }: Result): Picture[] {
  const picture = (file: string, alt: string, series: readonly Series[], content: () => string): Picture[] =>
    series.some(({ points }) => points.length > 1) ? [{ file, alt, content: content() }] : [];
  const chart = (file: string, title: string, xTitle: string, what: string): Picture[] => {
    const series = seriesOf(measured, what);
    return picture(file, title, series, () =>
      lineChart({ title, xTitle, yTitle: 'deliveries a second', x: 'log', y: 'linear', series }),
    );
  };
  const delays = distributions(measured);
  const title = 'From commit to handler, two processes';
  return [
    ...chart('drain-by-batch', 'Drain, by what is claimed at once', 'claimed at once', curves.batch),
    ...chart('drain-by-backlog', 'Drain, by the size of the backlog', 'waiting', curves.backlog),
    ...chart('drain-by-history', 'Drain of 40,000, by finished ones beside it', 'finished ones', curves.history),
    ...picture('latency', title, delays, () =>
      lineChart({ title, xTitle: 'ms', yTitle: '% of deliveries', x: 'log', y: 'linear', series: delays }),
    ),
    ...(profile
      ? [
          {
            file: 'flame-graph',
            alt: 'Flame graph of our drain',
            content: flameGraph('CPU of our drain, by call', profile.flame),
          },
        ]
      : []),
  ];
}

/** Measurements of `<contender> at <x>`, one line for each contender. */
function seriesOf(measured: readonly Measurement[], what: string): Series[] {
  const rows = measured.filter((row) => row.what === what && row.figure === 'rate');
  const lines = grouped(rows, ({ contender }) => contender.split(' at ')[0]!);
  return lines.map(([name, of]) => ({
    name,
    points: of.map(({ contender, median }) => [Number(contender.split(' at ')[1]), median] as const),
  }));
}

function distributions(measured: readonly Measurement[]): Series[] {
  const rows = measured.filter((row) => row.what === latencyLine);
  const contenders = [...new Set(rows.map(({ contender }) => contender))];
  return contenders.map((name) => ({
    name,
    points: percents.flatMap((percent) => {
      const row = rows.find((one) => one.contender === name && one.figure === `p${percent}`);
      return row ? [[row.median, percent] as const] : [];
    }),
  }));
}
