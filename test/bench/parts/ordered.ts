import type { Order } from '../queue/stage';
import { each, perSecond, queuePart } from './queue-part';

const keyed = (keys: number, count: number, seconds: number): Omit<Order, 'contender'> => ({
  prepare: { backlog: count, keys },
  scenario: { kind: 'drain', count, keys, seconds },
});

export const orderedPart = queuePart(
  'ordered',
  'ordering keys: one at a time of each',
  (run) => {
    const seconds = run.quick ? 4 : 15;
    return [
      {
        what: 'ordered, 1 key',
        units: perSecond,
        contenders: each(['ours', 'pg-boss'], keyed(1, 20_000, seconds)),
        rounds: run.rounds(2, 3),
      },
      {
        what: 'ordered, 100 keys',
        units: perSecond,
        contenders: each(['ours', 'pg-boss', 'graphile-worker'], keyed(100, 20_000, seconds)),
        rounds: run.rounds(2, 3),
      },
      {
        what: 'ordered, 10,000 keys',
        units: perSecond,
        contenders: {
          ...each(['ours'], keyed(10_000, 40_000, 60)),
          'without keys': {
            contender: 'ours',
            prepare: { backlog: 40_000 },
            scenario: { kind: 'drain', count: 40_000 },
          },
        },
        rounds: run.rounds(3, 5),
      },
    ];
  },
  (of) => ({
    ordered_1_vs_pgboss: of('ordered, 1 key', 'rate', 'ours', 'pg-boss'),
    ordered_100_vs_pgboss: of('ordered, 100 keys', 'rate', 'ours', 'pg-boss'),
    ordered_100_vs_graphile: of('ordered, 100 keys', 'rate', 'ours', 'graphile-worker'),
    ordered_10k_vs_unordered: of('ordered, 10,000 keys', 'rate', 'ours', 'without keys'),
  }),
);
