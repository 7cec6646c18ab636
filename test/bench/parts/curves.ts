import type { Order } from '../queue/stage';
import { perSecond, queuePart, type OrderedLine } from './queue-part';

const contenders = ['ours', 'pg-boss', 'graphile-worker'] as const;

/** Names of curves; a contender is a curve, and its points are `<contender> at <x>`. */
export const curves = {
  batch: 'drain by what is claimed at once',
  backlog: 'drain by the size of the backlog',
  history: 'drain of 40,000 by the number of finished ones beside it',
} as const;

export const pointName = (contender: string, x: number): string => `${contender} at ${x}`;

/** What the drain rate depends on. */
export const curvesPart = queuePart('curves', 'the drain by batch, backlog and history', (run) => {
  const rounds = run.rounds(1, 3);
  const seconds = run.quick ? 2 : 5;
  const line = (what: string, xs: readonly number[], order: (x: number) => Omit<Order, 'contender'>): OrderedLine => ({
    what,
    units: perSecond,
    contenders: Object.fromEntries(
      xs.flatMap((x) => contenders.map((contender) => [pointName(contender, x), { contender, ...order(x) }])),
    ),
    rounds,
  });
  return [
    line(curves.batch, run.quick ? [1, 10, 100, 1_000] : [1, 10, 50, 100, 250, 500, 1_000, 2_000], (batch) => ({
      prepare: { backlog: 40_000 },
      scenario: { kind: 'drain', count: 40_000, batch, seconds },
    })),
    line(curves.backlog, run.quick ? [10_000, 80_000] : [10_000, 40_000, 160_000, 640_000], (backlog) => ({
      prepare: { backlog },
      scenario: { kind: 'drain', count: backlog },
    })),
    line(curves.history, run.quick ? [50_000, 500_000] : [100_000, 300_000, 1_000_000, 3_000_000], (count) => ({
      prepare: { backlog: 40_000, beside: { what: 'finished', count } },
      scenario: { kind: 'drain', count: 40_000 },
    })),
  ];
});
