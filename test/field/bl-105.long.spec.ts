import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { currentVersion } from 'nest-deliveries/migrations';
import { until } from '../faults/support/facts';
import { startPgBouncer, withPgBouncer } from '../pooler/pgbouncer';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { runTs, spawnTs } from '../support/ts-child';
import type { Started } from './bl-105.child';

// BL-105: replicas that start together on a fresh database crash with duplicate relations, or each leaves a version of its own. Two
// gates that hold six processes and the command at the worst moment, and a command killed halfway, are in
// test/demo/application.spec.ts; here nobody holds them, often, and there is something to migrate.

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Six processes that have loaded everything, so that what they are told next happens at once. */
const sixProcesses = (env: Record<string, string> = {}): ChildProcess[] => {
  const six = Array.from({ length: 6 }, () =>
    spawnTs(join(__dirname, 'bl-105.child.ts'), { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
  );
  children.push(...six);
  return six;
};

async function startOn(url: string, process: ChildProcess): Promise<Started> {
  const answer = once(process, 'message') as Promise<[Started]>;
  process.send(url);
  return (await answer)[0];
}

const versions = async (database: TestDatabase): Promise<unknown[]> =>
  (await database.query('SELECT version FROM deliveries.schema_migrations ORDER BY version')).map(
    ({ version }) => version,
  );

const current = Array.from({ length: currentVersion }, (_, index) => index + 1);

it('BL-105: six processes and the command at once on an empty database, 20 times: one applies, and no start fails', async () => {
  const six = sixProcesses();
  for (let round = 1; round <= 20; round += 1) {
    const database = await createTestDatabase({ empty: true });
    const command = runTs('src/cli.ts', { args: ['migrate'], env: { DATABASE_URL: database.url } });
    const starts = await Promise.all(six.map((process) => startOn(database.url, process)));
    expect({ round, starts }).toEqual({ round, starts: six.map(() => 'up') });
    expect(await command).toMatchObject({ code: 0, stderr: '' });
    expect(await versions(database)).toEqual(current);
    await database.drop();
  }
}, 300_000);

it('BL-105: from the version before with 200,000 rows, the first of them killed halfway: one applies, and no start fails', async () => {
  const nextRelease = { NODE_OPTIONS: `--require ${join(__dirname, 'bl-105.next-release.cjs')}` };
  const database = await createTestDatabase();
  await database.query(
    `INSERT INTO deliveries.deliveries (id, event_id, channel, destination, payload, due_at, created_at)
     SELECT gen_random_uuid(), gen_random_uuid(), 'mail', 'test', '{}', clock_timestamp(), clock_timestamp()
       FROM generate_series(1, 200000)`,
  );
  const migrate = (): ChildProcess =>
    spawnTs('src/cli.ts', { args: ['migrate'], env: { DATABASE_URL: database.url, ...nextRelease }, stdio: 'ignore' });

  const killed = migrate();
  await until(
    'it is in the middle of the rows',
    async () =>
      (
        await database.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'UPDATE%release%'`,
        )
      ).length > 0,
    30_000,
  );
  killed.kill('SIGKILL');

  const six = sixProcesses(nextRelease);
  const command = migrate();
  const starts = await Promise.all(six.map((process) => startOn(database.url, process)));
  expect(starts).toEqual(six.map(() => 'up'));
  expect(command.exitCode ?? ((await once(command, 'exit')) as [number])[0]).toBe(0);
  expect(await versions(database)).toEqual([...current, currentVersion + 1]);
  expect(await database.query('SELECT release, count(*)::integer FROM deliveries.deliveries GROUP BY release')).toEqual(
    [{ release: 2, count: 200_000 }],
  );
  await database.drop();
}, 120_000);

withPgBouncer(
  'BL-105: the same on an empty database behind PgBouncer in transaction mode',
  async (program) => {
    const six = sixProcesses();
    for (let round = 1; round <= 3; round += 1) {
      const database = await createTestDatabase({ empty: true });
      const bouncer = await startPgBouncer(program, database.url);
      const command = runTs('src/cli.ts', { args: ['migrate'], env: { DATABASE_URL: bouncer.url } });
      const starts = await Promise.all(six.map((process) => startOn(bouncer.url, process)));
      const { code, stderr } = await command;
      // oxlint-disable-next-line jest/no-standalone-expect -- withPgBouncer is a test, or skipped
      expect({ round, starts, code, stderr, versions: await versions(database) }).toEqual({
        round,
        starts: six.map(() => 'up'),
        code: 0,
        stderr: '',
        versions: current,
      });
      await bouncer.close();
      await database.drop();
    }
  },
  120_000,
);
