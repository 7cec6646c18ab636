import type { Record } from '../queue/scenarios/record';
import { each, perSecond, queuePart } from './queue-part';

const one = 'record, 8 clients';
const calls = 'record of 100,000 in calls of 1,000';
const units = { rate: 'transactions/s', deliveries: 'deliveries/s', p50: 'ms', p99: 'ms' };

export const recordPart = queuePart(
  'record',
  "what recording adds to a caller's transaction",
  (run) => {
    const scenario = (settings: Omit<Record, 'kind'>): Record => ({ kind: 'record', ...settings });
    // As many as the goals were measured with. Over 3,000, ours reaches three quarters of this rate, as its code is still being
    // compiled, and graphile-worker a fifth more than this: it slows down as it goes on.
    const transactions = run.quick ? 10_000 : 15_000;
    const ofSixteen = run.quick ? 3_000 : 15_000;
    const thousands = run.quick ? 60 : 200;
    const ours = (settings: Omit<Record, 'kind'>) => each(['ours'], { scenario: scenario(settings) }).ours!;
    return [
      {
        what: one,
        units: { rate: units.rate, p50: 'ms', p99: 'ms' },
        contenders: each(['ours', 'pg-boss', 'graphile-worker', 'plain INSERT'], {
          scenario: scenario({ clients: 8, transactions, deliveries: 1 }),
        }),
        rounds: run.rounds(3, 9),
      },
      {
        what: calls,
        units: perSecond,
        contenders: each(['ours', 'graphile-worker', 'pg-boss'], { scenario: { kind: 'bulk', count: 100_000 } }),
        rounds: run.rounds(3, 5),
      },
      {
        what: 'record of one, 16 clients',
        units,
        contenders: {
          'plain INSERT': {
            ...ours({ clients: 16, transactions: ofSixteen, deliveries: 1 }),
            contender: 'plain INSERT',
          },
          ours: ours({ clients: 16, transactions: ofSixteen, deliveries: 1 }),
          'ours, ordered': ours({ clients: 16, transactions: ofSixteen, deliveries: 1, keys: 'own' }),
          'ours, ordered, one key': ours({ clients: 16, transactions: ofSixteen, deliveries: 1, keys: 'one' }),
        },
        rounds: run.rounds(1, 3),
      },
      {
        what: 'record of a thousand, 16 clients',
        units,
        contenders: {
          'plain INSERT': {
            ...ours({ clients: 16, transactions: thousands, deliveries: 1_000 }),
            contender: 'plain INSERT',
          },
          ours: ours({ clients: 16, transactions: thousands, deliveries: 1_000 }),
          'ours, ordered': ours({ clients: 16, transactions: thousands, deliveries: 1_000, keys: 'own' }),
        },
        rounds: run.rounds(1, 3),
      },
    ];
  },
  (of) => ({
    record_vs_pgboss: of(one, 'rate', 'ours', 'pg-boss'),
    record_vs_graphile: of(one, 'rate', 'ours', 'graphile-worker'),
    record_overhead: of(one, 'rate', 'ours', 'plain INSERT'),
    bulk_vs_graphile: of(calls, 'rate', 'ours', 'graphile-worker'),
  }),
);
