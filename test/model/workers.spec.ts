// Whole applications, with their timers and slots, in the place of the single steps of model.spec.ts: what happens when is up
// to the machine here, so only what must be so in the end is checked. A plan that fails is named by its seed:
// MODEL_SEED=… npx jest test/model/workers.spec.ts
import fc from 'fast-check';
import { retry, succeeded } from 'nest-deliveries';
import { captureLog } from '../faults/support/captured-log';
import { until } from '../faults/support/facts';
import { type Line, lineTo } from '../faults/support/line';
import { scriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

interface Plan {
  /** Transactions: the keys of what each records (0 for none), and how it ends. */
  readonly transactions: { readonly keys: number[]; readonly commits: boolean; readonly plain: boolean }[];
  /** At which sends, counted over all replicas, the replica that sends is killed. */
  readonly crashes: number[];
  /** Which sends are answered with a retry. */
  readonly retries: number[];
}

const plans: fc.Arbitrary<Plan> = fc.record({
  transactions: fc.array(
    fc.record({
      keys: fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 3 }),
      commits: fc.integer({ min: 0, max: 4 }).map((n) => n > 0),
      plain: fc.boolean(),
    }),
    { minLength: 60, maxLength: 60, size: 'max' },
  ),
  crashes: fc.uniqueArray(fc.integer({ min: 5, max: 80 }), { minLength: 3, maxLength: 3 }),
  retries: fc.uniqueArray(fc.nat({ max: 120 }), { minLength: 20, maxLength: 20, size: 'max' }),
});

interface Send {
  readonly n: number;
  readonly id: string;
  readonly replica: Replica;
  endedAt: number | undefined;
  readonly beganAt: number;
}

interface Replica {
  readonly app: DeliveriesApp;
  readonly line: Line;
  dead: boolean;
}

// The shortest lease that is allowed: what a killed replica had claimed and not begun to send waits for its end.
const settings = {
  name: 'mail',
  maxAge: '1d',
  concurrency: 4,
  sendTimeout: 100,
  lease: 5_100,
  retry: { first: 20, max: 40 },
} as const;

/** One run of a plan. */
class Run {
  readonly sends: Send[] = [];
  private readonly replicas: Replica[] = [];
  private readonly starting: Promise<void>[] = [];

  constructor(
    private readonly database: TestDatabase,
    private readonly plan: Plan,
  ) {}

  async start(): Promise<void> {
    const line = await lineTo(this.database.url);
    const replica: Partial<Replica> = { line, dead: false };
    const channel = scriptedChannel(settings);
    channel.on('', (delivery) => this.send(replica as Replica, delivery.id, delivery.payload.n!));
    const app = await startDeliveriesApp(this.database.url, [channel.type], { connection: line.connection });
    captureLog();
    this.replicas.push(Object.assign(replica, { app }) as Replica);
  }

  private async send(replica: Replica, id: string, n: number): Promise<ReturnType<typeof succeeded>> {
    if (replica.dead) return new Promise(() => {});
    const send: Send = { n, id, replica, beganAt: performance.now(), endedAt: undefined };
    const place = this.sends.push(send);
    if (this.plan.crashes.includes(place)) return this.kill(replica);
    await new Promise((resolve) => setImmediate(resolve));
    if (replica.dead) return new Promise(() => {});
    send.endedAt = performance.now();
    return this.plan.retries.includes(place) ? retry(503) : succeeded();
  }

  /** Nothing that it does from now on reaches anybody; another one is started in its place. */
  private kill(replica: Replica): Promise<never> {
    replica.dead = true;
    replica.line.refuse();
    replica.line.cut();
    this.starting.push(this.start(), this.endLeases(replica));
    return new Promise(() => {});
  }

  /** Of what it was sending. What it had claimed and not begun to send waits for its lease to end by itself. */
  private async endLeases(replica: Replica): Promise<void> {
    const ids = this.sends.filter((send) => send.replica === replica && send.endedAt === undefined).map(({ id }) => id);
    await this.database.query(
      `UPDATE deliveries.deliveries SET due_at = clock_timestamp(), lease_expires_at = clock_timestamp()
        WHERE id = ANY($1) AND claim_token IS NOT NULL`,
      [ids],
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.starting);
    for (const { line } of this.replicas) line.accept();
    await Promise.all(this.replicas.map(({ app }) => app.close()));
    await Promise.all(this.replicas.map(({ line }) => line.close()));
  }
}

/** Records what the plan says, several transactions at a time. @returns the numbers that are committed */
async function record(
  app: DeliveriesApp,
  plan: Plan,
  type: ReturnType<typeof scriptedChannel>['type'],
): Promise<Set<number>> {
  const committed = new Set<number>();
  let count = 0;
  const queue = [...plan.transactions];
  const rolledBack = new Error('rolled back on purpose');
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { keys, commits, plain } = next;
      // In one order within a transaction, as hosts that use plain transactions have to do.
      const drafts = keys
        .toSorted((a, b) => a - b)
        .map((key) => ({
          destination: 'somebody',
          payload: { n: (count += 1) },
          ...(key === 0 ? {} : { orderingKey: `key ${key}` }),
        }));
      const begin = plain
        ? app.dataSource.transaction.bind(app.dataSource)
        : app.recorder.transaction.bind(app.recorder);
      const ended = begin(async (tx) => {
        await app.recorder.enqueue(tx, type, drafts);
        if (!commits) throw rolledBack;
        for (const { payload } of drafts) committed.add(payload.n);
      });
      await ended.catch((error: unknown) => {
        if (error !== rolledBack) throw error;
      });
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  return committed;
}

async function play(plan: Plan): Promise<void> {
  const database = await createTestDatabase();
  const run = new Run(database, plan);
  const channel = scriptedChannel(settings);
  const host = await startDeliveriesApp(database.url, [channel.type], { run: [] });
  try {
    await Promise.all([run.start(), run.start()]);
    const committed = await record(host, plan, channel.type);
    await until(
      'everything is sent',
      async () => {
        const rows = await database.query(`SELECT FROM deliveries.deliveries WHERE status <> 'succeeded'`);
        return rows.length === 0;
      },
      30_000,
    );
    await check(database, run.sends, committed);
  } finally {
    await run.close();
    await host.close();
    await database.drop();
  }
}

async function check(database: TestDatabase, sends: readonly Send[], committed: ReadonlySet<number>): Promise<void> {
  const rows = await database.query<{ n: number; key: string | null; attempts: number; failures: number }>(`
    SELECT (d.payload->>'n')::integer AS n, d.ordering_key AS key, d.attempts,
           (SELECT count(*) FROM deliveries.delivery_attempts a WHERE a.delivery_id = d.id)::integer AS failures
      FROM deliveries.deliveries d ORDER BY d.ordinal`);
  const numbers = (list: Iterable<number>): number[] => [...list].toSorted((a, b) => a - b);
  expect(numbers(rows.map(({ n }) => n))).toEqual(numbers(committed));
  expect(numbers(new Set(sends.map(({ n }) => n)))).toEqual(numbers(committed));
  expect(rows.filter(({ attempts, failures }) => attempts !== failures + 1)).toEqual([]);
  for (const key of new Set(rows.flatMap((row) => row.key ?? []))) {
    const line = rows.filter((row) => row.key === key).map(({ n }) => n);
    const ofKey = sends.filter(({ n }) => line.includes(n));
    // Repeated sends aside, in the order of the commits; and never two at once, but for one whose replica is dead.
    expect(ofKey.map(({ n }) => line.indexOf(n))).toEqual(
      ofKey.map(({ n }) => line.indexOf(n)).toSorted((a, b) => a - b),
    );
    const alive = ofKey.filter(({ endedAt }) => endedAt !== undefined);
    const overlaps = alive.filter((send, index) => index > 0 && alive[index - 1]!.endedAt! > send.beganAt);
    expect(overlaps.map(({ n }) => n)).toEqual([]);
  }
}

it('delivers everything in order while replicas are killed in the middle of sends', async () => {
  const { MODEL_SEED } = process.env;
  const seed = MODEL_SEED === undefined ? {} : { seed: Number(MODEL_SEED) };
  const details = await fc.check(fc.asyncProperty(plans, play), { numRuns: 1, endOnFailure: true, ...seed });
  if (details.failed) throw new Error(`MODEL_SEED=${details.seed}`, { cause: details.errorInstance });
  expect(details.numRuns).toBe(1);
}, 60_000);
