import { each, queuePart } from './queue-part';

export const idlePart = queuePart('idle', 'a replica with five channels and nothing to do', (run) => [
  {
    what: 'idle, five queues',
    units: { transactions: '/s', 'Node CPU': '% of a core', 'PostgreSQL CPU': '% of a core' },
    contenders: each(run.quick ? ['ours'] : ['ours', 'pg-boss', 'graphile-worker'], {
      scenario: { kind: 'idle', queues: 5, seconds: run.quick ? 10 : 60 },
    }),
    rounds: 1,
  },
]);
