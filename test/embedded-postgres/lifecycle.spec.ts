import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded-postgres';
import { thisOwner } from '../../src/embedded-postgres/processes';
import { runFolderPrefix } from '../../src/embedded-postgres/run-folder-name';
import { sweepFolders } from '../../src/embedded-postgres/run-folder';
import { ask, listens, serverPid, untilGone } from './facts';

// A start takes 1 to 2 s on idle cores and several times that on shared ones.
jest.setTimeout(180_000);

const servers: EmbeddedPostgres[] = [];
const folders: string[] = [];

/** Starts a server that is ended after the test, whatever the test does. */
async function start(options?: Parameters<typeof startEmbeddedPostgres>[0]): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres(options);
  servers.push(server);
  return server;
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'embedded-postgres-data-'));
  // The account that root drops to has to pass through, as it does through an ordinary checkout.
  spawnSync('chmod', ['755', folder]);
  folders.push(folder);
  return folder;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe('a temporary server', () => {
  it('listens on loopback without durability, has the asked-for database, and leaves nothing', async () => {
    const server = await start({ database: 'a "quoted" name', settings: { max_connections: '17' } });
    expect(server.attached).toBe(false);
    await expect(ask(server.url, 'SELECT current_database()')).resolves.toBe('a "quoted" name');
    await expect(ask(server.url, 'SHOW listen_addresses')).resolves.toBe('127.0.0.1');
    await expect(ask(server.url, 'SHOW fsync')).resolves.toBe('off');
    await expect(ask(server.url, 'SHOW max_connections')).resolves.toBe('17');
    await expect(ask(server.url, 'SHOW server_encoding')).resolves.toBe('UTF8');
    await expect(
      ask(server.url, 'SELECT datcollate FROM pg_database WHERE datname = current_database()'),
    ).resolves.toBe('C');
    const pid = serverPid(server.dataDirectory);
    await server.stop();
    await untilGone({ pid, port: server.port });
    expect(existsSync(dirname(server.dataDirectory))).toBe(false);
    await expect(server.startServer()).rejects.toThrow('stopped for good');
  });

  it('runs beside others, each on a port and a folder of its own', async () => {
    const three = await Promise.all([start(), start(), start()]);
    expect(new Set(three.map(({ port }) => port)).size).toBe(3);
    expect(new Set(three.map(({ dataDirectory }) => dataDirectory)).size).toBe(3);
    await expect(Promise.all(three.map(({ url }) => ask(url, 'SELECT 1')))).resolves.toEqual([1, 1, 1]);
  });
});

describe('a server that is asked for something impossible', () => {
  let occupant: Server;

  beforeAll((done) => {
    occupant = createServer().listen(0, '127.0.0.1', done);
  });

  afterAll((done) => {
    occupant.close(done);
  });

  it('says in one sentence that the port is taken, or what PostgreSQL says, and leaves no folder', async () => {
    const mine = runFolderPrefix('nest-deliveries-pg-', thisOwner());
    const present = () => readdirSync(tmpdir()).filter((name) => name.startsWith(mine));
    const before = present();
    const address = occupant.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const [taken, wrong] = await Promise.allSettled([start({ port }), start({ settings: { nonsense: '1' } })]);
    expect(taken).toMatchObject({
      reason: { message: `Embedded PostgreSQL: port ${port} is taken; choose another port.` },
    });
    expect(wrong).toMatchObject({
      reason: {
        message: expect.stringContaining(
          'the server did not start (FATAL:  unrecognized configuration parameter "nonsense")',
        ),
      },
    });
    expect(present()).toEqual(before);
  });
});

describe('a server with a folder', () => {
  it('keeps the data over stop, crash and restart, with durability', async () => {
    const directory = join(newFolder(), 'new', 'pg');
    const first = await start({ directory, database: 'app' });
    expect(first.dataDirectory).toBe(join(directory, 'data'));
    await expect(ask(first.url, 'SHOW fsync')).resolves.toBe('on');
    await ask(first.url, 'CREATE TABLE kept AS SELECT 1 AS one');

    const pid = serverPid(first.dataDirectory);
    await first.stopServer('immediate');
    await untilGone({ pid, port: first.port });
    await first.startServer();
    await ask(first.url, 'INSERT INTO kept VALUES (2)');
    await first.stopServer('fast');
    await first.startServer();
    await expect(first.startServer()).rejects.toThrow('is running');
    await expect(ask(first.url, 'SELECT sum(one)::int FROM kept')).resolves.toBe(3);

    await first.stop();
    const second = await start({ directory, database: 'app' });
    expect(second.attached).toBe(false);
    await expect(ask(second.url, 'SELECT sum(one)::int FROM kept')).resolves.toBe(3);
  });

  it('is shared by a second start, which leaves it running', async () => {
    const directory = newFolder();
    // Both find no data and make it; one of them wins the folder, at whichever step.
    const both = await Promise.all([start({ directory }), start({ directory, database: 'other' })]);
    expect(both.filter(({ attached }) => attached)).toHaveLength(1);
    expect(both[0].port).toBe(both[1].port);
    const attached = both.find((server) => server.attached);
    const owner = both.find((server) => !server.attached);
    await attached?.stop();
    await expect(attached?.stopServer('fast')).rejects.toThrow('belongs to another process');
    await expect(ask(owner?.url ?? '', 'SELECT 1')).resolves.toBe(1);

    const third = await start({ directory, database: 'third' });
    expect(third.attached).toBe(true);
    await expect(ask(third.url, 'SELECT current_database()')).resolves.toBe('third');
    await owner?.stop();
    expect(await listens(third.port)).toBe(false);
    expect(readdirSync(directory).toSorted()).toEqual(['data', 'server.log']);
  });

  it('starts over the lock file of a server that is no more', async () => {
    const directory = newFolder();
    const first = await start({ directory });
    const lock = join(first.dataDirectory, 'postmaster.pid');
    const text = readFileSync(lock, 'utf8');
    await first.stop();
    writeFileSync(lock, text.replace(/^\d+/, String(spawnSync('true').pid)));
    const second = await start({ directory });
    expect(second.attached).toBe(false);
  });
});

it('says what PostgreSQL says of a cluster of another major version, and names the folder', async () => {
  const directory = newFolder();
  const first = await start({ directory });
  await first.stop();
  writeFileSync(join(first.dataDirectory, 'PG_VERSION'), '15\n');
  await expect(start({ directory })).rejects.toThrow(
    new RegExp(`initialized by PostgreSQL version 15, .*, or choose another data folder than ${directory}\\.$`),
  );
});

describe('the sweep', () => {
  it('removes the folders of dead owners only', async () => {
    const root = newFolder();
    const me = thisOwner();
    const dead = { ...me, pid: spawnSync('true').pid, began: 1 };
    const make = (owner: typeof me, end: string, postmaster?: string) => {
      const folder = join(root, `${runFolderPrefix('nest-deliveries-pg-', owner)}${end}`);
      mkdirSync(join(folder, 'data'), { recursive: true });
      if (postmaster !== undefined) writeFileSync(join(folder, 'data', 'postmaster.pid'), postmaster);
      return folder;
    };
    const stale = [
      make(dead, 'aaaaaa'),
      make(dead, 'bbbbbb', `${dead.pid}\n`),
      // The id has been given to another process since, ours: it began at another time, and serves no folder.
      make({ ...me, began: me.began + 1 }, 'cccccc', `${process.pid}\n`),
    ];
    const kept = [make(me, 'dddddd'), make({ ...dead, host: '00000000' }, 'eeeeee')];
    mkdirSync(join(root, 'nest-deliveries-pg-of-a-stranger'));
    expect((await sweepFolders(root)).toSorted()).toEqual(stale.toSorted());
    expect(stale.filter((folder) => existsSync(folder))).toEqual([]);
    expect(kept.every((folder) => existsSync(folder))).toBe(true);
    expect(readdirSync(root)).toHaveLength(3);
  });
});
