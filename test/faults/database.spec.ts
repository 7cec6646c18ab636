import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded-postgres';
import { applyMigrations } from '../../migrations';
import { Client, Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from './support/facts';
import { type Receiver, startReceiver } from './support/receiver';
import { recordFor, type Replica, type ReplicaOrder, startReplica } from './support/replica';
import { countByStatus, rowsOf } from './support/rows';

describe('PostgreSQL down for 10 s under load (BL-121)', () => {
  let server: EmbeddedPostgres;
  let pool: Pool;

  beforeAll(async () => {
    // A crash forgets what was committed without waiting for the log: with the defaults of a server for tests, the deliveries
    // themselves. The writer of the log is slow, so that nothing is kept by luck.
    server = await startEmbeddedPostgres({ settings: { synchronous_commit: 'on', wal_writer_delay: '10s' } });
    pool = new Pool({ connectionString: server.url });
    pool.on('error', () => {});
    const client = await pool.connect();
    await client.query('BEGIN');
    await applyMigrations(async (sql, parameters) => (await client.query(sql, parameters)).rows, 'deliveries');
    await client.query('COMMIT');
    client.release();
  });

  afterAll(async () => {
    await pool.end();
    await server.stop();
  });

  it('ends no process, work resumes within 5 s of its return, and everything is delivered', async () => {
    const database = {
      query: async <Row extends object>(sql: string, parameters: unknown[] = []) =>
        (await pool.query<Row & Record<string, unknown>>(sql, parameters)).rows as Row[],
    };
    const receiver = await startReceiver();
    // Slow enough that there is work before, during and after.
    receiver.answer = (_, response) => void setTimeout(() => response.end(), 50);
    const options = {
      migrate: false,
      pollInterval: 500,
      sendTimeout: '5s',
      lease: '30s',
      retry: { first: '1s' },
    } as const;
    const replicas = [1, 2].map(() => startReplica({ url: server.url, receiver: receiver.url, options }));
    try {
      await Promise.all(replicas.map(({ ready }) => ready));
      const ids = await recordFor(
        database,
        Array.from({ length: 1_500 }, () => ({})),
      );
      await until('work is under way', () => receiver.arrivals.length > 100);
      await server.stopServer('immediate');
      const down = performance.now();
      await until('it was down for 10 s', () => performance.now() - down > 10_000, 15_000);
      await server.startServer();
      const back = performance.now();
      const before = receiver.arrivals.length;
      await until('work resumes', () => receiver.arrivals.length > before, 30_000);
      expect(performance.now() - back).toBeLessThan(5_000);
      // A claim whose reply was lost with its connection waits for the end of its lease: those from before the outage are moved.
      await database.query(
        `UPDATE deliveries.deliveries SET due_at = clock_timestamp(), lease_expires_at = clock_timestamp()
          WHERE claim_token IS NOT NULL AND lease_expires_at < clock_timestamp() + interval '22 s'`,
      );
      await until(
        'all are delivered',
        async () => (await countByStatus(database as never))['succeeded'] === ids.length,
        30_000,
      );

      expect(new Set(receiver.arrivals.map(({ id }) => id))).toEqual(new Set(ids));
      for (const replica of replicas) {
        expect(replica.child.exitCode).toBeNull();
        expect(replica.child.signalCode).toBeNull();
        // One line for each change of state, whatever the number of connections, tries and outcomes.
        const said = replica.lines();
        expect(said.filter((text) => text.includes('PostgreSQL does not answer'))).toHaveLength(1);
        expect(said.filter((text) => text.includes('PostgreSQL answers again'))).toHaveLength(1);
        expect(said.filter((text) => /unhandled|Warning/i.test(text))).toEqual([]);
      }
    } finally {
      for (const { child } of replicas) child.kill('SIGKILL');
      await Promise.all(replicas.map(({ ended }) => ended));
      await receiver.close();
    }
  }, 90_000);
});

describe('pg_terminate_backend (BL-121) on every connection, of the workers and of the host’s own pool', () => {
  let database: TestDatabase;
  let receiver: Receiver;
  let replica: Replica;
  let killer: Client;

  afterEach(async () => {
    await killer.end();
    replica.child.kill('SIGKILL');
    await replica.ended;
    await receiver.close();
    await database.drop();
  });

  async function start(pollInterval: number, host: Partial<ReplicaOrder>): Promise<void> {
    [database, receiver] = await Promise.all([createTestDatabase(), startReceiver()]);
    const options = { migrate: false, pollInterval, sendTimeout: '5s', lease: '10s' } as const;
    replica = startReplica({ url: database.url, receiver: receiver.url, options, ...host });
    killer = new Client({ connectionString: database.url });
    await Promise.all([killer.connect(), replica.ready]);
  }

  /** The replica's connections as they are, or as they were when all of them were ended. */
  async function connections(
    and: '' | ', pg_terminate_backend(pid)' = '',
  ): Promise<{ workers: number; host: string[] }> {
    const [own] = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const { rows } = await killer.query<{ name: string; state: string }>(
      `SELECT application_name AS name, state ${and} FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid NOT IN (pg_backend_pid(), $1)`,
      [own!.pid],
    );
    const host = rows.filter(({ name }) => !name.startsWith('nest-deliveries'));
    const workers = rows.filter(({ name }) => name === 'nest-deliveries').length;
    return { workers, host: host.map(({ state }) => state) };
  }
  /** For how long no connection of the workers has been asked anything, in ms; 0 when one is busy. */
  async function sinceWorkersAsked(): Promise<number> {
    const { rows } = await killer.query<{ rest: number }>(
      `SELECT CASE WHEN bool_and(state = 'idle')
              THEN extract(epoch FROM min(clock_timestamp() - state_change))::float8 * 1000 ELSE 0 END AS rest
         FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'nest-deliveries'`,
    );
    return rows[0]!.rest;
  }
  const endAll = () => connections(', pg_terminate_backend(pid)');
  const untilSettled = () =>
    until('all are settled', async () => ((await countByStatus(database))['pending'] ?? 0) === 0, 15_000);
  const linesOf = (pattern: RegExp): string[] => replica.lines().filter((text) => pattern.test(text));

  it('is survived by those that are idle', async () => {
    await start(1_000, { hostConnections: 3 });
    await recordFor(database, [{}]);
    await untilSettled();
    // A moment after a poll, which takes milliseconds, and long before the next.
    await until('the workers rest', async () => {
      const rest = await sinceWorkersAsked();
      return rest > 100 && rest < 400;
    });
    const { workers, host } = await endAll();
    expect(workers).toBeGreaterThan(0);
    expect(host).toEqual(['idle', 'idle', 'idle']);
    await recordFor(database, [{}, {}]);
    await untilSettled();
    // In the host's pool as well: the next question gets a new connection.
    replica.child.send('record');
    await until('the host records', () => replica.committed.length > 0);
    replica.child.send('rest');
    expect(linesOf(/connection of the workers was lost|does not answer/)).toHaveLength(workers);
    expect(linesOf(/unhandled|Warning/i)).toEqual([]);
    expect([replica.child.exitCode, replica.child.signalCode]).toEqual([null, null]);
  });

  it('is survived by those that are busy, and what the host was told is committed arrives', async () => {
    await start(10, {});
    receiver.answer = (_, response) => void setTimeout(() => response.end(), 5);
    replica.child.send('record');
    let ended = 0;
    for (let round = 0; round < 5; round += 1) {
      const before = replica.committed.length;
      await until('the host records and the workers send', async () => {
        const { workers, host } = await connections();
        const recorded = replica.committed.slice(before).some(Boolean);
        return recorded && workers > 0 && host.some((state) => state !== 'idle');
      });
      ended += (await endAll()).workers;
    }
    const before = replica.committed.length;
    await until('the host records again', () => replica.committed.slice(before).some(Boolean));
    replica.child.send('rest');
    // Which transactions failed, the host knows: some did, and those that did not are all there.
    await until('the host has stopped', () => replica.committed.at(-1) === 'rested');
    const committed = replica.committed.filter((each) => each !== undefined && each !== 'rested');
    expect(replica.committed).toContain(undefined);
    expect(await rowsOf(database, committed as string[])).toHaveLength(committed.length);
    // A claim whose reply was lost with its connection waits for the end of its lease.
    await database.query(
      `UPDATE deliveries.deliveries SET due_at = clock_timestamp(), lease_expires_at = clock_timestamp()
        WHERE claim_token IS NOT NULL`,
    );
    await untilSettled();
    expect(Object.keys(await countByStatus(database))).toEqual(['succeeded']);
    expect([replica.child.exitCode, replica.child.signalCode]).toEqual([null, null]);
    // At most one line for each that was idle. Those that were busy share the line of the change of state, which one that was
    // ended while it was still being set up, and so is not among those counted, can cause as well.
    const idle = linesOf(/connection of the workers was lost/).length;
    const outages = linesOf(/does not answer/).length;
    expect(idle + outages).toBeGreaterThan(0);
    expect(idle).toBeLessThanOrEqual(ended);
    expect(outages).toBeLessThanOrEqual(ended);
    expect(linesOf(/unhandled|Warning/i)).toEqual([]);
  }, 40_000);
});
