import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { type Account, parsePasswd } from '../../src/embedded-postgres/account';
import { thisOwner } from '../../src/embedded-postgres/processes';
import { runFolderPrefix } from '../../src/embedded-postgres/run-folder-name';
import { ask, serverPid, until, untilGone } from './facts';
import { type Installation, makeInstallation, type Started } from './installation';

const root = process.geteuid?.() === 0;

/** Whom the programs run as: root and an ordinary user when this is root, else only the user who runs this. */
const accounts: [string, Account | undefined][] = root
  ? [
      ['root', undefined],
      ['an ordinary user', parsePasswd(readFileSync('/etc/passwd', 'utf8')).find(({ name }) => name === 'nobody')],
    ]
  : [['an ordinary user', undefined]];

// A start takes 1 to 2 s on idle cores and several times that on shared ones.
jest.setTimeout(180_000);

let installation: Installation;

beforeAll(() => {
  installation = makeInstallation();
});

// Every start in this file has to deal with missing links.
beforeEach(() => installation.removeLinks());

afterAll(() => installation.remove());

/** Ends the program in the hardest way, then waits until its server and everything temporary have gone. */
async function killAndSee({ said, program }: Started): Promise<void> {
  const pid = serverPid(said.dataDirectory);
  program.kill('SIGKILL');
  await untilGone({ pid, port: said.port });
  await until('no temporary folder is left', () => readdirSync(installation.temporary).length === 0);
}

describe.each(accounts)('as %s', (_, account) => {
  it('starts without install scripts, and nothing is left after SIGKILL of the parent', async () => {
    const stale = join(
      installation.temporary,
      `${runFolderPrefix('nest-deliveries-pg-', { ...thisOwner(), pid: spawnSync('true').pid })}aaaaaa`,
    );
    mkdirSync(stale);
    if (account) spawnSync('chown', [`${account.uid}`, stale]);
    const started = await installation.start({}, account);
    expect(started.said.error).toBeUndefined();
    expect(existsSync(stale)).toBe(false);
    await expect(ask(started.said.url, 'SELECT 1')).resolves.toBe(1);
    await killAndSee(started);
    expect(existsSync(dirname(started.said.dataDirectory))).toBe(false);
  });

  it('ends a server with a folder in order after SIGKILL of the parent, and finds the data again', async () => {
    const directory = mkdtempSync(join(dirname(installation.root), 'data-'));
    if (account) spawnSync('chown', [`${account.uid}`, directory]);
    const first = await installation.start({ directory }, account);
    await ask(first.said.url, 'CREATE TABLE kept AS SELECT 42');
    const beside = await installation.start({ directory }, account);
    expect(beside.said).toMatchObject({ attached: true, port: first.said.port });
    beside.program.stdin?.end();
    await once(beside.program, 'exit');
    await killAndSee(first);
    expect(readFileSync(join(directory, 'server.log'), 'utf8')).toContain('received fast shutdown request');

    const second = await installation.start({ directory }, account);
    expect(second.said.attached).toBe(false);
    await expect(ask(second.said.url, 'TABLE kept')).resolves.toBe(42);
    second.program.stdin?.end();
    const [code]: unknown[] = await once(second.program, 'exit');
    expect(code).toBe(0);
    expect(readdirSync(directory).toSorted()).toEqual(['data', 'server.log']);
  });
});

describe('below a folder of mode 0700', () => {
  beforeAll(() => chmodSync(installation.root, 0o700));
  afterAll(() => chmodSync(installation.root, 0o755));

  it('starts with data that stays, finds it again, and leaves only it', async () => {
    const directory = join(installation.root, '.data', 'pg');
    const first = await installation.start({ directory });
    expect(first.said.error).toBeUndefined();
    await ask(first.said.url, 'CREATE TABLE kept AS SELECT 42');
    first.program.stdin?.end();
    await once(first.program, 'exit');
    const second = await installation.start({ directory });
    expect(second.said.dataDirectory).toBe(first.said.dataDirectory);
    await expect(ask(second.said.url, 'TABLE kept')).resolves.toBe(42);
    second.program.kill('SIGKILL');
    const left = root ? [dirname(second.said.dataDirectory)] : [];
    await until('only the data is left', () => {
      const names = readdirSync(installation.temporary);
      return names.length === left.length && names.every((name) => left.includes(join(installation.temporary, name)));
    });
    for (const folder of left) rmSync(folder, { recursive: true });
  });
});

function listed(folder: string): string[] {
  return readdirSync(folder).map((name) => join(folder, name));
}

it('leaves nothing when the parent is killed while the cluster is being made', async () => {
  const program = installation.run({});
  await until('initdb is at work', () =>
    readdirSync(installation.temporary)
      .flatMap((name) => listed(join(installation.temporary, name)))
      .some((path) => path.includes('.making-') && existsSync(join(path, 'base', '1'))),
  );
  expect(readdirSync(installation.temporary)).toHaveLength(1);
  program.kill('SIGKILL');
  await until('no temporary folder is left', () => readdirSync(installation.temporary).length === 0);
});

it('says what to do when the optional package is missing', async () => {
  const bare = makeInstallation({ binaries: false });
  try {
    const { said } = await bare.start({});
    expect(said.error).toMatch(
      /^Embedded PostgreSQL: the optional package @embedded-postgres\/.* is not installed; set DATABASE_URL/,
    );
  } finally {
    bare.remove();
  }
});
