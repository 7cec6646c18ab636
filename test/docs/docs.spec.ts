import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { optionDefaults } from 'nest-deliveries';
import { checkTemplateFolder, emailOptionDefaults } from 'nest-deliveries/email';
import { contractRules } from 'nest-deliveries/testing';
import { webhooksOptionDefaults } from 'nest-deliveries/webhooks';
import { backchannelLogoutOptionNames } from '../../libs/backchannel-logout/src/options/backchannel-logout-options';
import { channelSettingNames } from '../../libs/deliveries/src/channel-settings';
import { adminOptionDefaults } from '../../libs/deliveries/src/operate/admin/admin-options';
import packageJson from '../../package.json';
import { until } from '../faults/support/facts';
import { createTestDatabase } from '../support/test-database';
import { endOf, runTs, spawnTs } from '../support/ts-child';
import { messageKinds } from './email/message-kinds';

// Two of these are processes that load all of Nest and of a runner.
jest.setTimeout(120_000);

const root = resolve(__dirname, '../..');
const pages = ['.', 'docs', 'libs'].flatMap((folder) => markdownIn(folder));

function markdownIn(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: folder !== '.' }) as string[];
  return entries
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

const read = (page: string): string => readFileSync(join(root, page), 'utf8');

/** Cells of the rows of the table between two markers, backticks and markup stripped off the first. */
function table(page: string, marker: string): string[][] {
  const text = read(page);
  const part = text.split(`<!-- ${marker}:begin -->`)[1]?.split(`<!-- ${marker}:end -->`)[0];
  if (!part) throw new Error(`${page} has no table "${marker}"`);
  const rows = part.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test('there are pages to check', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'docs/options.md']));
});

test.each(pages)('every file that %s links to or names is there', (page) => {
  const text = read(page);
  const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map((match) =>
    resolve(root, dirname(page), match[1]!),
  );
  // `libs/…`, `src/…` and so on in code spans, as the newcomer's map has them; a placeholder or a pattern is no name.
  const named = [...text.matchAll(/`((?:libs|src|test|migrations|templates|docs|scripts|\.ci)\/[^`\s<>*{}…]+)`/g)];
  const files = [...links, ...named.map((match) => resolve(root, match[1]!))];
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});

test.each(pages)('every npm script that %s names exists', (page) => {
  const scripts = [...read(page).matchAll(/npm run (?:--silent )?([a-z][a-z:-]*)/g)].map((match) => match[1]!);
  expect(scripts.filter((name) => !(name in packageJson.scripts))).toEqual([]);
});

test.each<[page: string, marker: string, defaults: Readonly<Record<string, string>>]>([
  ['docs/options.md', 'options', optionDefaults],
  ['docs/options.md', 'admin-options', adminOptionDefaults],
  ['docs/email.md', 'email-options', emailOptionDefaults],
  ['docs/webhooks.md', 'webhooks-options', webhooksOptionDefaults],
])('the options table of %s, %s, says what the code does', (page, marker, defaults) => {
  const documented = table(page, marker).map(([name, value]) => [name!, value!]);
  const plain = (rows: string[][]): string[][] => rows.map((row) => row.map((cell) => cell.replaceAll('`', '')));
  expect(plain(documented)).toEqual(plain(Object.entries(defaults)));
});

test('the table of the options of back-channel logout, which have no defaults, names all of them', () => {
  const documented = table('docs/backchannel-logout.md', 'logout-options').map(([name]) => name!.replaceAll('`', ''));
  expect(documented).toEqual([...backchannelLogoutOptionNames]);
});

test('the table of the contract says what its rules say', () => {
  const documented = table('docs/testing.md', 'contract').map(([name, rule]) => [name!.replaceAll('`', ''), rule]);
  expect(documented).toEqual(Object.entries(contractRules));
});

test('the table of channel settings names all of them', () => {
  const documented = table('docs/options.md', 'channel-settings').map(([name]) => name!.replaceAll('`', ''));
  expect(documented).toEqual([...channelSettingNames]);
});

test('the README’s map answers each question with a file', () => {
  const rows = table('README.md', 'map');
  expect(rows.length).toBeGreaterThanOrEqual(6);
  const answers = rows.map(([, answer]) => /\]\(([^)]+)\)/.exec(answer!)?.[1]);
  expect(answers.filter((file) => !file || !statSync(join(root, file)).isFile())).toEqual([]);
});

/** The code of a page whose first line is a comment with the name of a file. */
const namedCode = (page: string): string[][] =>
  [...read(page).matchAll(/^```ts\n\/\/ (\S+\.ts)\n(.*?)^```$/gms)].map((match) => match.slice(1));

/** Everything that the compiler and the linter see for the sake of a page. */
const codeOfDocs = readdirSync(join(root, 'test/docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && name.includes('/'))
  .map((name) => ({ name: basename(name), text: read(join('test/docs', name)) }));

const withoutIndent = (code: string): string => code.replaceAll(/^[ \t]+/gm, '');

test.each(pages)('the code of %s is compiled: whole files under their names, and parts of files', (page) => {
  const named = namedCode(page).filter(
    ([name, code]) => !codeOfDocs.some((file) => file.name === name && file.text === code),
  );
  expect(named.map(([name]) => name)).toEqual([]);
  const parts = [...read(page).matchAll(/^```ts\n(?!\/\/ \S+\.ts\n)(.*?)^```$/gms)].flatMap(([, code]) =>
    withoutIndent(code!).split(/\n{2,}/),
  );
  const files = codeOfDocs.map(({ text }) => `\n${withoutIndent(text)}`);
  expect(parts.filter((part) => !files.some((file) => file.includes(`\n${part.trimEnd()}\n`)))).toEqual([]);
});

test('the README shows a whole application', () => {
  const shown = namedCode('README.md').map(([name]) => name!);
  // The test is shown where testing is explained, and the command line where running is.
  const elsewhere = ['welcome.test.ts', 'cli.ts'];
  const files = readdirSync(join(root, 'test/docs/readme')).filter((name) => !elsewhere.includes(name));
  expect(shown.toSorted()).toEqual(files.toSorted());
});

test('the templates of the page on email fit its kinds of messages', () => {
  const folder = 'test/docs/email';
  const templates = [...read('docs/email.md').matchAll(/^```hbs (\S+)\n(.*?)^```$/gms)].map((match) => match.slice(1));
  expect(templates).toHaveLength(2);
  for (const [name, source] of templates) expect(read(join(folder, 'templates', name!))).toBe(source);
  expect(checkTemplateFolder(join(root, folder, 'templates'), messageKinds)).toEqual([]);
});

test('the README’s application delivers, and ends in order', async () => {
  const requests: { headers: IncomingHttpHeaders; body: string }[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests.push({ headers: request.headers, body: await textOf(request) });
    // The first time it does not work.
    response.writeHead(requests.length === 1 ? 503 : 204).end();
  };
  const crm = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(crm, 'listening');
  const database = await createTestDatabase({ empty: true });
  const port = await freePort();
  const env = {
    DATABASE_URL: database.url,
    CRM_URL: `http://127.0.0.1:${(crm.address() as AddressInfo).port}/`,
    PORT: String(port),
    OPERATORS_PASSWORD: 'correct horse',
    NODE_ENV: undefined,
  };
  const child = spawnTs('test/docs/readme/main.ts', { env });
  const ended = endOf(child);
  try {
    await until(
      'it has failed once',
      async () => {
        const rows = await database.query<{ found: boolean }>(
          `SELECT to_regclass('deliveries.deliveries') IS NOT NULL AS found`,
        );
        if (!rows[0]!.found) return false;
        const moved = await database.query(
          `UPDATE deliveries.deliveries SET due_at = clock_timestamp() WHERE last_error = '503' RETURNING id`,
        );
        return moved.length === 1;
      },
      60_000,
    );
    await until(
      'it has arrived',
      async () => {
        const rows = await database.query(`SELECT FROM deliveries.deliveries WHERE status = 'succeeded'`);
        return rows.length === 1;
      },
      60_000,
    );
    const dashboard = `http://127.0.0.1:${port}/admin/deliveries`;
    const withPassword = (password: string) => ({ authorization: `Basic ${btoa(`ada:${password}`)}` });
    expect((await fetch(dashboard, { headers: withPassword('') })).status).toBe(401);
    const page = await fetch(dashboard, { headers: withPassword(env.OPERATORS_PASSWORD) });
    expect(await page.text()).toContain('welcome');
    const paused = await fetch(`${dashboard}/api/pause`, {
      method: 'POST',
      headers: { ...withPassword(env.OPERATORS_PASSWORD), 'content-type': 'application/json' },
      body: JSON.stringify({ channel: 'welcome' }),
    });
    expect([paused.status, await paused.text()]).toEqual([200, expect.stringContaining('ada')]);
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
    const [account] = await database.query<{ id: string }>(`SELECT id FROM account WHERE handle = 'ada'`);
    const [delivery] = await database.query<{ id: string }>('SELECT id FROM deliveries.deliveries');
    expect(requests.map(({ headers, body }) => [headers['idempotency-key'], JSON.parse(body)])).toEqual(
      [1, 2].map(() => [delivery!.id, { accountId: account!.id }]),
    );
  } finally {
    child.kill('SIGKILL');
    await ended;
    crm.close();
    await database.drop();
  }
}, 150_000);

test('the test of the page on testing is run by a runner of its own, and passes', async () => {
  const database = await createTestDatabase({ empty: true });
  const env = { DATABASE_URL: database.url, NODE_ENV: undefined };
  const { code, stdout } = await runTs('test/docs/readme/welcome.test.ts', { env });
  await database.drop();
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^(#|ℹ) fail 0$/m) as string });
  // Three of its own, and the contract but for the secrets, of which the channel has none.
  expect(stdout).toMatch(new RegExp(`^(#|ℹ) pass ${3 + Object.keys(contractRules).length - 1}$`, 'm'));
}, 60_000);

test('CI runs the test command that stands on the README’s first screen, and nothing else', () => {
  const firstScreen = read('README.md').split('\n').slice(0, 40).join('\n');
  expect(firstScreen).toContain('npm ci && npm run demo');
  expect(firstScreen).toContain('npm ci && npm test');
  const commands = read('.ci/run')
    .split('\n')
    .filter((line) => line && !line.startsWith('#') && !/^(set|cd) /.test(line));
  expect(commands.join(' && ')).toBe('npm ci && npm test');
});
