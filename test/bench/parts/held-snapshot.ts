import type { Part } from '../part';
import { queuePart } from './queue-part';

/** One contender and no turns: what is compared are two times of one run. */
export const heldSnapshotPart: Part = {
  name: 'held_snapshot',
  about: 'a snapshot that is held open for two minutes (45 s with --quick)',
  async run(run) {
    const times = run.quick
      ? { before: 10, held: 45, last: 15, after: 5 }
      : { before: 30, held: 120, last: 30, after: 60 };
    const part = queuePart(this.name, this.about, () => [
      {
        what: `1,000/s, a snapshot held for ${times.held} s`,
        units: {
          before: '/s',
          'last part': '/s',
          after: '/s',
          'p99 before': 'ms',
          'p99 last part': 'ms',
          'p99 after': 'ms',
          'dead rows': '',
        },
        contenders: { ours: { contender: 'ours', scenario: { kind: 'held snapshot', rate: 1_000, ...times } } },
        rounds: 1,
      },
    ]);
    const { measured } = await part.run(run);
    const of = (figure: string): number => measured.find((row) => row.figure === figure)?.median ?? Number.NaN;
    return { measured, ratios: { held_snapshot: Math.round((of('last part') / of('before')) * 1_000) / 1_000 } };
  },
};
