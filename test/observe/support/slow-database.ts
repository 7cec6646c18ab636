import { setTimeout as sleep } from 'node:timers/promises';
import { QueueCounter } from 'nest-deliveries';
import { DataSource } from 'typeorm';
import { startApplication } from '../../../src/application';
import { post } from '../../../src/demo/api';
import { createTestCa } from '../../../src/demo/certificates';
import { startReceiver, type Receiver } from '../../../src/demo/receiver';
import { until } from '../../faults/support/facts';
import { startTcpProxy } from '../../support/tcp-proxy';
import { createTestDatabase } from '../../support/test-database';

/** What an indicator answered: the status of the reply, what it says, and how long it took. */
export interface Look {
  readonly status: number;
  readonly says: string;
  readonly deliveries: Readonly<Record<string, unknown>>;
  readonly took: number;
}

export interface Looks {
  readonly live: Look;
  readonly ready: Look;
}

/** What was seen of an application whose database was slow for a while. */
export interface SlowSpell {
  /** With a partner that is down, and everything else well. */
  readonly before: Looks;
  readonly during: readonly Looks[];
  /** From the end of the spell until it was ready again, in ms. */
  readonly recoveredIn: number;
  readonly after: Looks;
  /** Connections of the host's pool that answered a question side by side afterwards. */
  readonly usable: number;
  /** What arrived at a partner that is well: what was recorded before the spell, and after it. */
  readonly arrived: readonly string[];
}

const poolSize = 10;

/**
 * The reference application behind a line that makes every statement take 5 seconds, with every connection of its own pool
 * taken, and a partner that does not answer: looked at through its HTTP endpoints twice a second.
 */
export async function slowSpell(seconds: number): Promise<SlowSpell> {
  const database = await createTestDatabase({ empty: true });
  const { hostname, port, pathname, username } = new URL(database.url);
  const proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  const ca = await createTestCa();
  const [well, down] = await Promise.all(
    ['Well', 'Down'].map(async (name) => startReceiver(name, await ca.issue({ hosts: ['127.0.0.1'] }))),
  );
  const application = await startApplication(
    {
      databaseUrl: `postgres://${username}@127.0.0.1:${proxy.port}${pathname}`,
      replica: 'T',
      deliveries: { pollInterval: 100, retry: { first: '1h' } },
      outboundHttp: { testMode: { ca: ca.certificate } },
    },
    0,
    ['fatal'],
  );
  const { nest, url } = application;
  const looks = async (): Promise<Looks> => {
    const [live, ready] = await Promise.all([look(`${url}/health/live`), look(`${url}/health/ready`)]);
    return { live, ready };
  };
  const record = (handle: string): Promise<unknown> => post(`${url}/accounts`, { handle });
  try {
    for (const receiver of [well!, down!])
      await post(`${url}/partners`, { name: receiver.name, endpoint: receiver.url });
    down!.close();
    await record('before');
    await until('one has arrived, and one waits for its retry', async () => {
      const rows = await database.query(
        `UPDATE deliveries.deliveries SET created_at = now() - interval '20 min' WHERE last_error IS NOT NULL AND status = 'pending' RETURNING id`,
      );
      return rows.length === 1 && well!.arrivals.length === 1;
    });
    await nest.get(QueueCounter, { strict: false }).runOnce();
    await nest.get(QueueCounter, { strict: false }).runOnce();
    const before = await looks();

    const dataSource = nest.get(DataSource, { strict: false });
    const runners = Array.from({ length: poolSize }, () => dataSource.createQueryRunner());
    await Promise.all(runners.map((runner) => runner.connect()));
    proxy.setLatency(2_500);
    const during: Looks[] = [];
    const end = performance.now() + seconds * 1_000;
    // A pause between two looks, as an orchestrator has, not a wait for something.
    for (; performance.now() < end; await sleep(500)) during.push(await looks());
    proxy.setLatency(0);

    const ended = performance.now();
    await until('it is ready again', async () => (await look(`${url}/health/ready`)).status === 200, 30_000);
    const recoveredIn = performance.now() - ended;
    await Promise.all(runners.map((runner) => runner.release()));
    const pids = await Promise.all(
      runners.map(async (_, index) => {
        const [row] = await dataSource.query<{ pid: number }[]>(
          'SELECT pg_backend_pid() AS pid, pg_sleep(0.2), $1::int',
          [index],
        );
        return row!.pid;
      }),
    );
    await record('after');
    await until('what was recorded afterwards has arrived', () => well!.arrivals.length === 2, 20_000);
    // What was given up while the line was slow takes a moment to end on the other side of it.
    await until('no connection is left over', async () => {
      const rows = await database.query<{ name: string; count: number }>(
        `SELECT application_name AS name, count(*)::integer FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1`,
      );
      const count = (name: string): number => rows.find((row) => row.name === name)?.count ?? 0;
      return count('nest-deliveries observer') <= 2 && count('nest-deliveries') <= 3;
    });
    return {
      before,
      during,
      recoveredIn,
      after: await looks(),
      usable: new Set(pids).size,
      arrived: handlesOf(well!),
    };
  } finally {
    proxy.setLatency(0);
    await application.close();
    well!.close();
    await proxy.close();
    await database.drop();
  }
}

async function look(url: string): Promise<Look> {
  const began = performance.now();
  const response = await fetch(url);
  const body = (await response.json()) as { status: string; details: { deliveries: Record<string, unknown> } };
  return {
    status: response.status,
    says: body.status,
    deliveries: body.details.deliveries,
    took: performance.now() - began,
  };
}

const handlesOf = ({ arrivals }: Receiver): string[] => arrivals.map(({ handle }) => handle);

/** What has to be true of a slow spell, however long it was. */
export function expectCalm({ before, during, recoveredIn, after, usable }: SlowSpell): void {
  const old = expect.stringMatching(
    /^channel "partner_notification": its oldest pending delivery is 1\d{3} s old, over 900 s$/,
  );
  // The partner that is down is told of, and stops nothing.
  expect(before).toMatchObject({
    live: { status: 200, says: 'ok', deliveries: { status: 'up' } },
    ready: { status: 200, says: 'degraded', deliveries: { status: 'degraded', database: 'up', degraded: [old] } },
  });

  expect(during.length).toBeGreaterThan(5);
  for (const { live } of during) expect(live).toMatchObject({ status: 200, deliveries: { status: 'up' } });
  // Nothing that liveness looks at waits for the database.
  expect(Math.max(...during.map(({ live }) => live.took))).toBeLessThan(1_000);
  // An answer is good for a second: the first may have been told what was true before.
  const firstDown = during.findIndex(({ ready }) => ready.status === 503);
  expect([0, 1, 2, 3]).toContain(firstDown);
  for (const { ready } of during.slice(firstDown)) {
    expect(ready).toMatchObject({ status: 503, deliveries: { status: 'down', database: 'no answer within 2000 ms' } });
    expect(ready.took).toBeLessThan(4_000);
  }

  expect(recoveredIn).toBeLessThan(15_000);
  expect(after).toMatchObject({ live: { status: 200 }, ready: { status: 200, deliveries: { database: 'up' } } });
  expect(usable).toBe(poolSize);
}
