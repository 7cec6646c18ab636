import { each, queuePart } from './queue-part';

export const latencyLine = 'commit to handler, 20/s, two processes';

/** A peer that polls is as late as it polls: that takes no repetition. */
const judged = ['ours', 'graphile-worker', 'pg-boss, notify'];

export const latencyPart = queuePart(
  'latency',
  'from a commit in one process to the handler in another',
  (run) => [
    {
      what: latencyLine,
      units: { p50: 'ms', p90: 'ms', p99: 'ms' },
      contenders: each(run.quick ? judged : ['ours', 'pg-boss', 'graphile-worker', 'pg-boss, notify'], {
        scenario: { kind: 'latency', rate: 20, seconds: run.quick ? 8 : 30 },
      }),
      rounds: run.rounds(2, 3),
    },
  ],
  (of) => ({ latency_p50_vs_graphile: of(latencyLine, 'p50', 'graphile-worker', 'ours') }),
);
