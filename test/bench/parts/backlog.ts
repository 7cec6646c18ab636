import type { Preparation } from '../queue/preparation';
import type { Order } from '../queue/stage';
import { perSecond, queuePart } from './queue-part';

const what = 'drain of 40,000 beside';

const beside = (given?: Preparation['beside']): Order => ({
  contender: 'ours',
  prepare: { backlog: 40_000, ...(given ? { beside: given } : {}) },
  scenario: { kind: 'drain', count: 40_000 },
});

export const backlogPart = queuePart(
  'backlog',
  'a claim costs what is ready, not what exists',
  (run) => [
    {
      what,
      units: perSecond,
      contenders: {
        nothing: beside(),
        '1,000,000 finished': beside({ what: 'finished', count: 1_000_000 }),
        '1,000,000 scheduled': beside({ what: 'scheduled', count: 1_000_000 }),
        '100,000 failed': beside({ what: 'failed', count: 100_000 }),
        '1,000 failed heads': beside({ what: 'stuck', count: 1_000 }),
      },
      rounds: run.rounds(4, 5),
    },
  ],
  (of) => ({
    history_1m: of(what, 'rate', '1,000,000 finished', 'nothing'),
    scheduled_1m: of(what, 'rate', '1,000,000 scheduled', 'nothing'),
    failed_100k: of(what, 'rate', '100,000 failed', 'nothing'),
    stuck_heads: of(what, 'rate', '1,000 failed heads', 'nothing'),
  }),
);
