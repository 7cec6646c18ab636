import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { currentVersion } from 'nest-deliveries/migrations';
import { Client } from 'pg';
import { applicationMigrations } from '../../migrations/application';
import { startApplication } from '../../src/application';
import { readEnvironment } from '../../src/configuration';
import { post } from '../../src/demo/api';
import { createTestCa } from '../../src/demo/certificates';
import { deliveriesSql, type StoredDelivery } from '../../src/demo/facts';
import { startReceiver } from '../../src/demo/receiver';
import { newSecrets } from '../../src/secrets';
import { addresses as pages } from '../../src/start-page/start-page.controller';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { endOf, runTs, spawnTs, type TsChildEnd } from '../support/ts-child';

const migrationsLock = "hashtextextended('nest-deliveries migrations of deliveries', 0)";

// Twenty processes, each of which loads Nest and TypeORM: a second of computing.
jest.setTimeout(180_000);

const databases: TestDatabase[] = [];
const clients: Client[] = [];

afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await Promise.all(databases.map((database) => database.drop()));
});

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase({ empty: true });
  databases.push(database);
  return database;
}

/** A connection that holds what the test makes it hold. */
async function holder(database: TestDatabase): Promise<Client> {
  const client = new Client({ connectionString: database.url });
  clients.push(client);
  await client.connect();
  return client;
}

async function until(look: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await look())) await sleep(20);
}

/** Waits until at least so many statements, all of them with `text`, wait for a lock. */
const waiting = (database: TestDatabase, count: number, text = ''): Promise<void> =>
  until(async () => {
    const rows = await database.query(
      `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND position($1 IN query) > 0`,
      [text],
    );
    return rows.length >= count;
  });

const migrate = (url: string | undefined, ...args: string[]): Promise<TsChildEnd> =>
  runTs('src/cli.ts', { args: ['migrate', ...args], env: { DATABASE_URL: url } });

const operatorToken = 'known-to-operators';

/** A replica as `npm start` runs it. */
class Served {
  readonly child: ChildProcess;
  readonly end: Promise<TsChildEnd>;
  private output = '';

  constructor(url: string) {
    this.child = spawnTs('src/main.ts', { env: { DATABASE_URL: url, PORT: '0', OPERATOR_TOKEN: operatorToken } });
    this.end = endOf(this.child);
    this.child.stdout?.on('data', (text: string) => (this.output += text));
  }

  async addresses(): Promise<string[]> {
    await Promise.race([until(() => this.output.includes('Ctrl-C ends it.')), this.end]);
    return [...this.output.matchAll(/http:\S+/g)].map(([address]) => address);
  }

  async signal(): Promise<TsChildEnd> {
    this.child.kill('SIGTERM');
    return this.end;
  }
}

describe('BL-105: six replicas and the command migrate, at once on an empty database', () => {
  const replicas: Served[] = [];
  let database: TestDatabase;

  afterAll(() => {
    for (const { child } of replicas) child.kill('SIGKILL');
  });

  it('all come up, and each version was applied once', async () => {
    database = await emptyDatabase();
    // Two gates: nobody gets past the first statement of the application's migrations, nor of the libraries'.
    const [own, libraries] = await Promise.all([holder(database), holder(database)]);
    await own.query('BEGIN; CREATE TABLE application_migrations ()');
    await libraries.query(`BEGIN; SELECT pg_advisory_xact_lock(${migrationsLock})`);
    replicas.push(...Array.from({ length: 6 }, () => new Served(database.url)));
    const command = migrate(database.url);
    await waiting(database, 7);
    await own.query('ROLLBACK');
    await waiting(database, 7, migrationsLock);
    await libraries.query('ROLLBACK');
    expect(await command).toMatchObject({ code: 0, stderr: '' });
    const addresses = await Promise.all(replicas.map((replica) => replica.addresses()));
    expect(addresses.map((each) => each.length)).toEqual(Array.from({ length: 6 }, () => pages.length));
    const versions = await database.query('SELECT version FROM deliveries.schema_migrations');
    expect(versions).toHaveLength(currentVersion);
    expect(await database.query('SELECT FROM application_migrations')).toHaveLength(applicationMigrations.length);
  });

  it('the addresses that a replica names are served', async () => {
    const addresses = await replicas[0]!.addresses();
    const login = `Basic ${btoa(`ada:${operatorToken}`)}`;
    const answers = await Promise.all(addresses.map((each) => fetch(each, { headers: { authorization: login } })));
    expect(answers.map(({ status }) => status)).toEqual(addresses.map(() => 200));
    const strangers = await Promise.all(addresses.map((each) => fetch(each)));
    const closed = pages.map(({ path }) => (path.startsWith('/admin') ? 401 : 200));
    expect(strangers.map(({ status }) => status)).toEqual(closed);
    const page = await answers[0]!.text();
    for (const path of ['/api', '/accounts', '/partners', '/metrics', '/health/ready'])
      expect(page).toContain(`href="${path}"`);
  });

  it('SIGTERM ends them with exit code 0 and not a word; a second signal ends one that hangs at once with 1', async () => {
    const [hanging, ...others] = replicas;
    const ends = await Promise.all(others.map((replica) => replica.signal()));
    expect(ends.map(({ code, stderr }) => ({ code, stderr }))).toEqual(others.map(() => ({ code: 0, stderr: '' })));

    const lock = await holder(database);
    await lock.query('BEGIN; LOCK TABLE deliveries.deliveries IN ACCESS EXCLUSIVE MODE');
    // A claim that does not come back, which a shut-down in order waits for.
    await waiting(database, 1);
    const signals = setInterval(() => hanging!.child.kill('SIGTERM'), 50);
    const { code } = await hanging!.end;
    clearInterval(signals);
    await lock.query('ROLLBACK');
    expect(code).toBe(1);
  });
});

describe('the command migrate', () => {
  it('BL-105: killed halfway leaves nothing, and the next one applies it all', async () => {
    const database = await emptyDatabase();
    await database.query('CREATE SCHEMA deliveries');
    // The migration gets as far as this table's name, with two other tables made, and then waits for us.
    const lock = await holder(database);
    await lock.query('BEGIN; CREATE TABLE deliveries.delivery_attempts ()');
    const child = spawnTs('src/cli.ts', { args: ['migrate'], env: { DATABASE_URL: database.url } });
    await waiting(database, 1);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await lock.query('ROLLBACK');
    await until(async () => {
      const others = await database.query(`
        SELECT FROM pg_locks WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND locktype = 'advisory'`);
      return others.length === 0;
    });
    expect(
      await database.query("SELECT relname FROM pg_class WHERE relnamespace = 'deliveries'::regnamespace"),
    ).toEqual([]);

    const { code, stdout } = await migrate(database.url);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^Applied version 1: /) });
  });

  it('--status exits with 1 while the schema is behind, --sql prints what brings it up to date', async () => {
    const database = await emptyDatabase();
    const [before, script, rest] = await Promise.all([
      migrate(database.url, '--status'),
      migrate(undefined, '--sql'),
      migrate(undefined, '--sql', '--from', String(currentVersion)),
    ]);
    expect(before).toMatchObject({ code: 1, stdout: expect.stringContaining('version 0'), stderr: '' });
    expect(script).toMatchObject({ code: 0, stderr: '' });
    expect(rest).toMatchObject({ code: 0, stdout: '-- Nothing is missing.\n' });
    expect(await database.query("SELECT to_regnamespace('deliveries') AS found")).toEqual([{ found: null }]);

    await database.query(script.stdout);
    const [after, again] = await Promise.all([migrate(database.url, '--status'), migrate(database.url)]);
    expect(after).toMatchObject({ code: 0, stdout: expect.stringContaining('up to date'), stderr: '' });
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing to do'), stderr: '' });
  });

  it('says in one line why it cannot work, and in time; wrong usage is 2', async () => {
    // Takes connections and never says a word.
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const asked = once(silent, 'connection').then(() => performance.now());
    const frozen = migrate(`postgres://127.0.0.1:${port}/x`).then((end) => ({ end, endedAt: performance.now() }));
    const [refused, unnamed] = await Promise.all([migrate('postgres://127.0.0.1:1/x', '--status'), migrate(undefined)]);
    const wrong = await Promise.all([migrate(undefined, '--nonsense'), migrate(undefined, '--status', '--sql')]);
    const { end: silence, endedAt } = await frozen;
    silent.close();
    // From the question on: how long a process takes to load depends on what else the machine does.
    expect(endedAt - (await asked)).toBeLessThan(10_000);
    for (const { code, stdout, stderr } of [refused, silence, unnamed]) {
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^deliveries: [^\n]+\n$/);
    }
    expect(refused.stderr).toContain('PostgreSQL cannot be reached: connect ECONNREFUSED 127.0.0.1:1');
    expect(unnamed.stderr).toContain('DATABASE_URL is not set');
    expect(wrong.map(({ code, stdout }) => ({ code, stdout }))).toEqual(wrong.map(() => ({ code: 2, stdout: '' })));
    for (const { stderr } of wrong) expect(stderr).toMatch(/^error: [^\n]+\n$/);
  });
});

describe('the application', () => {
  it('opens no door to operators in production without a token, and takes none that could be guessed', () => {
    const production = {
      NODE_ENV: 'production',
      PUBLIC_URL: 'https://a.example',
      SECRETS: JSON.stringify(newSecrets()),
    };
    expect(readEnvironment(production).operatorToken).toBeUndefined();
    const [one, other] = [readEnvironment({}), readEnvironment({})];
    expect(one.operatorToken).toMatch(/^[\w-]{16}$/);
    expect(one.operatorToken).not.toBe(other.operatorToken);
    expect(() => readEnvironment({ OPERATOR_TOKEN: 'hunter2' })).toThrow(/^OPERATOR_TOKEN must be 16 to 200 letters/);
    expect(() => readEnvironment({ OPERATOR_TOKEN: 'hunter2' })).not.toThrow(/hunter2/);
  });

  it('tells partners of accounts that were committed, and refuses what it cannot use with a sentence', async () => {
    const database = await emptyDatabase();
    const ca = await createTestCa();
    const receiver = await startReceiver('Acme', await ca.issue({ hosts: ['127.0.0.1'] }));
    const application = await startApplication(
      {
        databaseUrl: database.url,
        replica: 'T',
        deliveries: { pollInterval: 50 },
        outboundHttp: { testMode: { ca: ca.certificate } },
      },
      0,
      ['error', 'fatal'],
    );
    const api = (path: string, body: unknown) => post(application.url + path, body);
    try {
      const partner = { name: 'Acme', endpoint: receiver.url };
      expect((await api('/partners', partner)).status).toBe(201);
      expect((await api('/accounts', { handle: 'ada' })).status).toBe(201);
      const refusals = await Promise.all([
        api('/partners', partner),
        api('/partners', { ...partner, name: '' }),
        api('/partners', { name: 'B', endpoint: 'http://acme.example/' }),
        api('/partners', { name: 'B', endpoint: 'https://10.0.0.1/' }),
        api('/accounts', {}),
        api('/accounts', { handle: 'Ada Lovelace' }),
        api('/accounts/import', { handles: [] }),
        api('/accounts/import', { handles: ['alan', 'ada'] }),
      ]);
      expect(refusals.map(({ status }) => status)).toEqual([409, 400, 400, 400, 400, 400, 400, 409]);
      for (const { body } of refusals) expect((body as { message: string }).message).toMatch(/^\S+ .+\.$/);

      await until(async () => {
        const stored = await database.query<StoredDelivery>(deliveriesSql);
        return stored.every(({ status }) => status !== 'pending');
      });
      const stored = await database.query<StoredDelivery>(deliveriesSql);
      expect(stored).toMatchObject([{ handle: 'ada', partner: 'Acme', status: 'succeeded', attempts: 1 }]);
      expect(receiver.arrivals).toMatchObject([{ handle: 'ada', deliveryId: stored[0]!.id, replica: 'T' }]);
    } finally {
      await application.close();
      receiver.close();
    }
  });
});
