import type { ChildProcess } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Client } from 'pg';
import { until } from '../faults/support/facts';
import { type Receiver, startReceiver } from '../faults/support/receiver';
import { attemptsOf, rowOf } from '../faults/support/rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { endOf, runTs, spawnTs } from '../support/ts-child';
import type { Told } from './bl-121.child';

// BL-121: a connection that the server closes ends the whole process. Here while it starts, while it stops, and in a command; an idle
// and a busy process, and a server that is down for 10 s, are in test/faults/database.spec.ts.

let database: TestDatabase;
let receiver: Receiver;
let killer: Client;
let child: ChildProcess | undefined;
let ended: ReturnType<typeof endOf> | undefined;
/** Backend of the connection that the helpers use. */
let own: number;

const unhandled = /unhandled|uncaught/i;

beforeEach(async () => {
  [database, receiver] = await Promise.all([createTestDatabase(), startReceiver()]);
  killer = new Client({ connectionString: database.url });
  await killer.connect();
  [{ pid: own }] = (await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
});

afterEach(async () => {
  child?.kill('SIGKILL');
  await ended;
  child = undefined;
  await killer.end();
  await receiver.close();
  await database.drop();
});

const told: Told[] = [];

function start(): void {
  told.length = 0;
  child = spawnTs(join(__dirname, 'bl-121.child.ts'), {
    args: [database.url, receiver.url],
    env: { NODE_OPTIONS: '--unhandled-rejections=strict', NO_COLOR: '1' },
  });
  child.on('message', (message: Told) => told.push(message));
  ended = endOf(child);
}

const failedStarts = (): string[] =>
  told.flatMap((each) => (typeof each === 'object' && 'failedStart' in each ? [each.failedStart] : []));

/** Ends every connection to the database but the test's own two. @returns how many */
async function endAll(): Promise<number> {
  const { rows } = await killer.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid NOT IN (pg_backend_pid(), $1) AND backend_type = 'client backend'`,
    [own],
  );
  return rows.length;
}

/** The host records a delivery. */
async function record(): Promise<string> {
  child!.send('record');
  return until(
    'it is recorded',
    () => told.flatMap((each) => (typeof each === 'object' && 'recorded' in each ? [each.recorded] : []))[0],
  );
}

/** What takes this lock waits in the middle of its start, with a transaction open. */
const migrationsLock = "hashtextextended('nest-deliveries migrations of deliveries', 0)";
const lockMigrations = (): Promise<unknown> => killer.query(`SELECT pg_advisory_lock(${migrationsLock})`);
const somebodyWaits = (): Promise<unknown> =>
  until(
    'somebody waits for the lock',
    async () =>
      (
        await killer.query(
          `SELECT FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()`,
        )
      ).rowCount,
    30_000,
  );

it('BL-121: a start that loses its connections fails with an error that can be caught, and the next one comes up', async () => {
  await lockMigrations();
  start();
  for (const starts of [1, 2, 3]) {
    await somebodyWaits();
    expect(await endAll()).toBeGreaterThan(0);
    await until('the start has failed', () => failedStarts().length === starts);
  }
  expect(failedStarts()[0]).toMatch(/terminat/i);
  await killer.query('SELECT pg_advisory_unlock_all()');
  await until('it is up', () => told.includes('up'), 30_000);
  // Those of the workers and of the host, while they are opened for the first time.
  let killed = 0;
  await until('a few were ended', async () => (killed += await endAll()) >= 5);
  const id = await record();
  await until('it has arrived', async () => (await rowOf(database, id)).status === 'succeeded');
  child!.kill('SIGTERM');
  const { code, stderr } = await ended!;
  expect({ code, unhandled: unhandled.test(stderr) }).toEqual({ code: 0, unhandled: false });
}, 180_000);

it('BL-121: a shut-down that loses its connections stores its outcomes all the same, and exits with 0', async () => {
  const held: ServerResponse[] = [];
  receiver.answer = (_, response) => void held.push(response);
  start();
  await until('it is up', () => told.includes('up'), 30_000);
  const id = await record();
  await until('it is in flight', () => held.length === 1);
  child!.kill('SIGTERM');
  await until('its connections were ended', endAll);
  held[0]!.end();
  await until('the outcome is stored', async () => (await rowOf(database, id)).status === 'succeeded');
  const exited = ended!.then(() => true);
  // And while it closes them.
  while (!(await Promise.race([exited, endAll().then(() => false)])));
  const { code, stderr } = await ended!;
  expect({ code, unhandled: unhandled.test(stderr) }).toEqual({ code: 0, unhandled: false });
  expect(await rowOf(database, id)).toMatchObject({ attempts: 1, crashes: 0, claim_token: null });
  expect(await attemptsOf(database, id)).toEqual([]);
}, 180_000);

it('BL-121: a command that loses its connection says so in one line and exits with 1', async () => {
  await lockMigrations();
  const command = runTs('src/cli.ts', {
    args: ['migrate'],
    env: { DATABASE_URL: database.url, NODE_OPTIONS: '--unhandled-rejections=strict' },
  });
  await somebodyWaits();
  await endAll();
  const { code, stdout, stderr } = await command;
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^deliveries: [^\n]+\n$/);
}, 180_000);
