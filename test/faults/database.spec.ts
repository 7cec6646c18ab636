import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded-postgres';
import { applyMigrations } from '../../migrations';
import { Client, Pool } from 'pg';
import { createTestDatabase } from '../support/test-database';
import { until } from './support/facts';
import { startReceiver } from './support/receiver';
import { recordFor, startReplica } from './support/replica';
import { countByStatus } from './support/rows';

describe('PostgreSQL down for 10 s under load', () => {
  let server: EmbeddedPostgres;
  let pool: Pool;

  beforeAll(async () => {
    server = await startEmbeddedPostgres();
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

describe('pg_terminate_backend (BL-121)', () => {
  it.each(['idle', 'busy'])('on every connection of a replica that is %s is survived', async (state) => {
    const database = await createTestDatabase();
    const receiver = await startReceiver();
    const options = {
      migrate: false,
      pollInterval: state === 'idle' ? '2s' : 10,
      sendTimeout: '5s',
      lease: '10s',
    } as const;
    const replica = startReplica({ url: database.url, receiver: receiver.url, options });
    const killer = new Client({ connectionString: database.url });
    try {
      await killer.connect();
      await replica.ready;
      if (state === 'busy') {
        receiver.answer = (_, response) => void setTimeout(() => response.end(), 5);
        await recordFor(
          database,
          Array.from({ length: 400 }, () => ({})),
        );
      } else {
        await recordFor(database, [{}]);
      }
      await until('it works', () => receiver.arrivals.length > 0);
      if (state === 'idle')
        await until('the outcome is written', async () => (await countByStatus(database))['succeeded'] === 1);
      let killed = 0;
      let rounds = 0;
      await until('its connections were ended a few times', async () => {
        const { rows } = await killer.query<{ ended: boolean }>(
          `SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'nest-deliveries'`,
        );
        killed += rows.length;
        if (rows.length > 0) rounds += 1;
        return rounds >= (state === 'idle' ? 1 : 5);
      });
      const ids = await recordFor(database, [{}, {}]);
      await until('the next ones arrive', () => ids.every((id) => receiver.of(id).length > 0));
      if (state === 'busy') {
        await database.query(
          `UPDATE deliveries.deliveries SET due_at = clock_timestamp(), lease_expires_at = clock_timestamp()
            WHERE claim_token IS NOT NULL`,
        );
      }
      await until('all are settled', async () => ((await countByStatus(database))['pending'] ?? 0) === 0, 15_000);
      expect(replica.child.exitCode).toBeNull();
      const lost = replica.lines().filter((text) => /connection of the workers was lost|does not answer/.test(text));
      // One line for each lost connection; those that were busy when they were lost share the line that says so.
      expect(lost.length).toBeGreaterThanOrEqual(state === 'idle' ? killed : 1);
      expect(lost.length).toBeLessThanOrEqual(killed);
      expect(replica.lines().filter((text) => /unhandled|Warning/i.test(text))).toEqual([]);
    } finally {
      await killer.end();
      replica.child.kill('SIGKILL');
      await replica.ended;
      await receiver.close();
      await database.drop();
    }
  });
});
