import { each, perSecond, queuePart } from './queue-part';

const what = 'fan-out to 100,000 recipients';

export const fanOutPart = queuePart(
  'fanout',
  'one change that causes 100,000 deliveries',
  (run) => [
    {
      what,
      units: perSecond,
      contenders: {
        ...each(['ours', 'ours, a list'], {
          prepare: { recipients: 100_000 },
          scenario: { kind: 'fan-out', count: 100_000 },
        }),
        'INSERT … SELECT': {
          contender: 'plain INSERT',
          prepare: { recipients: 100_000 },
          scenario: { kind: 'fan-out', count: 100_000 },
        },
      },
      rounds: run.rounds(3, 5),
    },
  ],
  (of) => ({ fanout_rows: of(what, 'rate', 'ours', 'INSERT … SELECT') }),
);
