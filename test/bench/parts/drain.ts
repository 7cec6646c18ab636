import { each, perSecond, queuePart } from './queue-part';

const backlog = 'drain of 40,000';
const singly = 'drain, 24 in flight, 1 ms each';
const unbatched = 'graphile-worker, no local queue';

export const drainPart = queuePart(
  'drain',
  'a backlog worked off as fast as each can',
  (run) => {
    const count = run.quick ? 8_000 : 20_000;
    return [
      {
        what: backlog,
        units: { ...perSecond, 'Node µs each': 'µs', 'PostgreSQL µs each': 'µs' },
        contenders: each(['ours', 'pg-boss', 'graphile-worker', 'ours, successes logged'], {
          prepare: { backlog: 40_000 },
          scenario: { kind: 'drain', count: 40_000 },
        }),
        rounds: run.rounds(6, 9),
      },
      {
        what: singly,
        units: perSecond,
        contenders: each(['ours', unbatched], {
          prepare: { backlog: count },
          scenario: { kind: 'drain', count, concurrency: 24, sendMs: 1 },
        }),
        rounds: run.rounds(3, 5),
      },
    ];
  },
  (of) => ({
    drain_vs_pgboss: of(backlog, 'rate', 'ours', 'pg-boss'),
    drain_vs_graphile: of(backlog, 'rate', 'ours', 'graphile-worker'),
    drain_cpu_vs_pgboss: of(backlog, 'CPU µs each', 'pg-boss', 'ours'),
    drain_cpu_vs_graphile: of(backlog, 'CPU µs each', 'graphile-worker', 'ours'),
    drain_logged: of(backlog, 'rate', 'ours, successes logged', 'ours'),
    drain_one_vs_graphile: of(singly, 'rate', 'ours', unbatched),
  }),
);
