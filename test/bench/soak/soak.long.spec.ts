import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { applyMigrations } from '../../../migrations';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../src/embedded-postgres';
import { until } from '../../faults/support/facts';
import { endOf, spawnTs } from '../../support/ts-child';
import { thirds, type Sample, type Spell } from './spell';

/** Ten minutes; another number of seconds for a try. */
const seconds = Number(process.env.SOAK_SECONDS ?? 600);
const rate = 200;
const spellSeconds = Math.max(2, seconds / 60);

describe('a replica under steady load', () => {
  // A server of its own: autovacuum goes round all databases of a server. Beside those that other tests make and drop, the dead rows of
  // five minutes were seen here.
  let server: EmbeddedPostgres;
  let database: Pool;

  beforeAll(async () => {
    server = await startEmbeddedPostgres();
    database = new Pool({ connectionString: server.url });
    const client = await database.connect();
    await client.query('BEGIN');
    await applyMigrations(async (sql, parameters) => (await client.query(sql, parameters)).rows, 'deliveries');
    await client.query('COMMIT');
    client.release();
  });

  afterAll(async () => {
    await database.end();
    await server.stop();
  });

  it(
    `keeps latency, memory, dead rows and the size of its tables for ${seconds} s`,
    async () => {
      const child = spawnTs('test/bench/soak/soak-main.ts', {
        args: [server.url, String(rate), String(spellSeconds)],
      });
      const ended = endOf(child);
      const samples: Sample[] = [];
      child.on('message', (spell: Spell) => {
        void tables(database).then((found) => samples.push({ ...spell, ...found }));
      });
      try {
        // Tables and memory have their size when retention and clean-up have begun to work: a fifth of the time is left out.
        await sleep(seconds * 1_000);
        child.send('rest');
        await until('all is worked off', () => isEmpty(database), 60_000);
      } finally {
        child.send('end');
      }
      expect(await ended).toMatchObject({ code: 0, stderr: '' });

      const steady = samples.slice(Math.ceil(samples.length / 5));
      const failures = await database.query(`SELECT FROM deliveries.deliveries WHERE status <> 'succeeded'`);
      expect(failures.rowCount).toBe(0);
      const handled = steady.reduce((sum, sample) => sum + sample.handled, 0);
      expect(handled / (steady.length * spellSeconds)).toBeGreaterThan(rate * 0.9);

      const p99 = thirds(steady, 'p99');
      expect(p99.last).toBeLessThan(2 * p99.first + 50);
      const heap = thirds(steady, 'heapMiB');
      expect(heap.last).toBeLessThan(heap.first + 5);
      // Two versions for each delivery and its deletion, in the two minutes that autovacuum may take to come by.
      expect(Math.max(...steady.map(({ deadRows }) => deadRows))).toBeLessThan(rate * 3 * 120);
      const table = thirds(steady, 'tableMiB');
      expect(table.last).toBeLessThan(1.3 * table.first + 5);
    },
    (seconds + 120) * 1_000,
  );
});

async function tables(database: Pool): Promise<Pick<Sample, 'deadRows' | 'tableMiB'>> {
  const { rows } = await database.query<{ dead: number; bytes: number }>(
    `SELECT sum(n_dead_tup)::float8 AS dead, pg_total_relation_size('deliveries.deliveries')::float8 AS bytes
       FROM pg_stat_user_tables`,
  );
  const [row] = rows;
  return { deadRows: row!.dead, tableMiB: row!.bytes / 2 ** 20 };
}

async function isEmpty(database: Pool): Promise<boolean> {
  const { rowCount } = await database.query(`SELECT FROM deliveries.deliveries WHERE status = 'pending' LIMIT 1`);
  return rowCount === 0;
}
