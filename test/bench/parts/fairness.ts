import type { Fairness } from '../queue/scenarios/fairness';
import { perSecond, queuePart, type OrderedLine } from './queue-part';

const what = '200 fast lanes at 200/s, 100 slots';
const without = 'no slow lane';
const lanes = 'drain of 40,000 over 200 lanes';
const beside = '50,000 of a slow lane waiting';
const endpoints = 'signed webhooks to 200 endpoints at 200/s, 100 slots';
const noneDead = 'no dead endpoint';
const oneDead = '50,000 waiting for an endpoint that never answers';

export const fairnessPart = queuePart(
  'fairness',
  'a destination that takes a second, beside 200 fast ones',
  (run): OrderedLine[] => {
    const scenario: Fairness = {
      kind: 'fairness',
      lanes: 200,
      rate: 200,
      seconds: run.quick ? 8 : 30,
      slots: 100,
      fastMs: 5,
      slowMs: 1_000,
    };
    // It keeps each slot until the attempt is given up, after ten seconds.
    const dead = { ...scenario, slowMs: 10_000 };
    return [
      {
        what,
        units: { p50: 'ms', p99: 'ms', delivered: '%', slow: 'slow ones/s' },
        contenders: {
          [without]: { contender: 'ours', scenario },
          [beside]: { contender: 'ours', prepare: { backlog: 50_000, slowLane: true }, scenario },
        },
        rounds: run.rounds(2, 3),
      },
      {
        what: endpoints,
        units: { p50: 'ms', p99: 'ms', delivered: '%', slow: 'attempts in vain/s' },
        contenders: {
          [noneDead]: { contender: 'ours, webhooks', scenario: dead },
          [oneDead]: { contender: 'ours, webhooks', prepare: { backlog: 50_000, slowLane: true }, scenario: dead },
        },
        rounds: run.rounds(1, 2),
      },
      {
        what: lanes,
        units: perSecond,
        contenders: {
          ours: {
            contender: 'ours',
            prepare: { backlog: 40_000, lanes: 200 },
            scenario: { kind: 'drain', count: 40_000 },
          },
          'without lanes': {
            contender: 'ours',
            prepare: { backlog: 40_000 },
            scenario: { kind: 'drain', count: 40_000 },
          },
        },
        rounds: run.rounds(2, 3),
      },
      {
        what: 'a lane alone, and a lane that answers 429 with Retry-After of 3 s',
        units: { 'slots of a lane alone': 'of 100', 'quiet kept': 's', 'others meanwhile': 'of 20' },
        contenders: { ours: { contender: 'ours', scenario: { kind: 'quiet' } } },
        rounds: 1,
      },
    ];
  },
  (of) => ({
    fairness_p99: of(what, 'p99', without, beside),
    fairness_webhooks_p99: of(endpoints, 'p99', noneDead, oneDead),
    lane_drain: of(lanes, 'rate', 'ours', 'without lanes'),
  }),
);
