import { Client } from 'pg';
import { Logger } from '@nestjs/common';
import { WorkerDatabase } from '../../libs/deliveries/src/database/worker-database';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from './support/facts';

describe('The two lines of an outage (BL-121), where statements that began before it end after it', () => {
  let database: TestDatabase;
  let workers: WorkerDatabase;
  let killer: Client;
  let said: string[];

  beforeEach(async () => {
    database = await createTestDatabase();
    killer = new Client({ connectionString: database.url });
    await killer.connect();
    workers = new WorkerDatabase({ connectionString: database.url, max: 3 });
    said = [];
    const say = (text: unknown): void => void said.push(String(text));
    jest.spyOn(Logger.prototype, 'error').mockImplementation(say);
    jest.spyOn(Logger.prototype, 'log').mockImplementation(say);
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await workers.close();
    await killer.end();
    await database.drop();
  });

  const away = expect.stringMatching(/^PostgreSQL does not answer/) as string;
  const back = expect.stringMatching(/^PostgreSQL answers again/) as string;

  /** A statement that ends when its gate, an advisory lock, is opened, or with its connection. */
  const gated = (gate: number) =>
    workers.query(`gated_${gate}`, `SELECT pg_advisory_xact_lock_shared(${gate}) /* gate ${gate} */`, []).then(
      () => 'answered',
      () => 'failed',
    );
  const close = (gate: number) => killer.query('SELECT pg_advisory_lock($1)', [gate]);
  const open = (gate: number) => killer.query('SELECT pg_advisory_unlock($1)', [gate]);
  const end = (gate: number) =>
    killer.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE $1`,
      [`%/* gate ${gate} */`],
    );
  const untilWaiting = (count: number) =>
    until('the statements wait at their gates', async () => {
      const { rowCount } = await killer.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`,
      );
      return rowCount === count;
    });
  /** Statements at the gates 1 to `count`, of which the first loses its connection. */
  async function loseFirstOf(count: number): Promise<Promise<string>[]> {
    const gates = Array.from({ length: count }, (_, index) => index + 1);
    for (const each of gates) await close(each);
    const statements = gates.map(gated);
    await untilWaiting(count);
    await end(1);
    return statements;
  }
  const ask = () => workers.query('ask', 'SELECT 1', []);
  const untilBack = () =>
    until('it is said that PostgreSQL answers', async () => {
      await ask();
      return said.length > 1;
    });

  it('does not take the answer to what was asked before for the end of it', async () => {
    const [first, second] = await loseFirstOf(2);
    expect(await first).toBe('failed');
    expect(said).toEqual([away]);
    await open(2);
    expect(await second).toBe('answered');
    expect(said).toEqual([away]);
    await untilBack();
    expect(said).toEqual([away, back]);
  });

  it('does not take an answer in its first moment, in which a server still ends one process after the other, for the end of it', async () => {
    const [first] = await loseFirstOf(1);
    expect(await first).toBe('failed');
    // While no time passes, that moment lasts.
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    await ask();
    await ask();
    expect(said).toEqual([away]);
    clock.mockRestore();
    await untilBack();
    expect(said).toEqual([away, back]);
  });

  it('does not take the failure of what was asked before its end for the next one', async () => {
    const [first, second] = await loseFirstOf(2);
    expect(await first).toBe('failed');
    await untilBack();
    await end(2);
    expect(await second).toBe('failed');
    expect(said).toEqual([away, back]);
    // The next one is told of.
    await close(3);
    const third = gated(3);
    await untilWaiting(1);
    await end(3);
    expect(await third).toBe('failed');
    expect(said).toEqual([away, back, away]);
  });
});
