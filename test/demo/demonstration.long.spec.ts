import { join } from 'node:path';
import { Client } from 'pg';
import { operatorToken, Stage } from '../../src/demo/stage';
import { Story } from '../../src/demo/story';
import { answerText } from '../../src/demo/receiver';
import { verdict } from '../../src/demo/verdict';
import { foundIn, rowsOf, spelt } from '../accounts/support/canaries';
import { withEnvironment } from '../outbound-http/environment';

// It waits for two leases to end, and for a receiver that asks to be left alone.
jest.setTimeout(300_000);

/** What goes over the HTTP API under these names is for its caller alone. */
const secretFields = ['token', 'secret', 'code', 'id_token', 'client_secret', 'signingKey'];

let stage: Stage;
let log = '';
let metrics = '';
const secrets: Record<string, string> = {};

/** Keeps what is secret in a request or in an answer. The last part of a JWT is what it cannot be made without. */
function note(text: unknown): void {
  if (typeof text !== 'string' || !text.startsWith('{')) return;
  JSON.parse(text, (name, value: unknown) => {
    if (!secretFields.includes(name) || typeof value !== 'string') return value;
    const part = value.split('.').at(-1)!;
    if (!Object.values(secrets).includes(part)) Object.assign(secrets, spelt(`${name} ${part.slice(0, 4)}`, part));
    return value;
  });
}

beforeAll(async () => {
  for (const stream of [process.stdout, process.stderr]) {
    jest.spyOn(stream, 'write').mockImplementation((chunk) => {
      log += String(chunk);
      return true;
    });
  }
  const { fetch } = globalThis;
  jest.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const response = await fetch(input, init);
    note(init?.body);
    note(await response.clone().text());
    return response;
  });
});

afterAll(async () => {
  jest.restoreAllMocks();
  await stage?.clear();
});

test('keeps what it promises, and leaves no secret in a table, a log or a metric', async () => {
  const environment = {
    DATABASE_URL: process.env.TEST_PG_ADMIN_URL,
    // Its replicas are processes of their own.
    NODE_OPTIONS: `--enable-source-maps --require ${join(__dirname, '../support/ts-hook.cjs')}`,
  };
  const facts = await withEnvironment(environment, async () => {
    stage = await Stage.set(['verbose', 'debug', 'log', 'warn', 'error', 'fatal']);
    const stop = stage.stopA.bind(stage);
    jest.spyOn(stage, 'stopA').mockImplementation(async () => {
      metrics += await (await fetch(`${stage.addressOfA}/metrics`)).text();
      await stop();
    });
    return new Story(stage, (said) => (log += said)).tell();
  });
  expect(verdict(facts)).toEqual([]);
  log += stage.output;

  const { tokenDigestKeys, signingKeys } = stage['secrets'];
  const { arrivals } = stage.mail;
  const links = arrivals.flatMap(({ text }) => /(?:token=|unsubscribe\/\S+\.)([\w-]{43})/.exec(text)?.[1] ?? []);
  expect(links.length).toBeGreaterThan(900);
  const logoutTokens = stage['parties'].flatMap((party) => party.arrivals.map(({ token }) => token));
  expect(logoutTokens).toHaveLength(2);
  Object.assign(
    secrets,
    { 'operators’ token': operatorToken, 'answer of a receiver': answerText },
    spelt('token digest key', tokenDigestKeys[0]!),
    spelt('signing key', signingKeys[0]!.d!),
    // A few of a thousand that are made alike.
    ...[...links.slice(0, 10), ...links.slice(-10)].map((token, index) => spelt(`link ${index}`, token)),
    ...logoutTokens.map((token, index) => spelt(`logout token ${index}`, token.split('.')[2]!)),
  );
  const bodies = {
    'text of an announcement': 'with the same doors',
    'text of a link': 'It counts once you have followed this link',
  };
  const addresses = Object.fromEntries(
    ['rosa@example.com', 'rosa@work.example', 'rosa@home.example', 'reader-7@example.com'].map((each) => [each, each]),
  );
  const everything = { ...secrets, ...bodies, ...addresses };
  // The search finds what is there, and there is enough to search for.
  expect(Object.keys(secrets).length).toBeGreaterThan(200);
  const seen = arrivals.map(({ to, text }) => `${to} ${text}`).join('\n');
  expect(foundIn(seen, { ...bodies, ...addresses })).toEqual([...Object.keys(bodies), ...Object.keys(addresses)]);
  expect(log).toContain('attempt');
  expect(stage.output).toContain('attempt');
  expect(metrics).toContain('deliveries_attempts_total');

  expect(foundIn(log, everything)).toEqual([]);
  expect(foundIn(metrics, everything)).toEqual([]);
  const client = new Client({ connectionString: stage.database.url });
  await client.connect();
  try {
    const query = async (sql: string, values: unknown[] = []) => (await client.query(sql, values)).rows as never[];
    const rows = await rowsOf({ query }, ['deliveries']);
    const copies = rows.filter(({ row }) => foundIn(row, addresses).length > 0);
    expect(new Set(copies.map(({ table }) => table))).toEqual(new Set(['deliveries.deliveries']));
    expect(copies.filter(({ row }) => !row.includes('notification'))).toEqual([]);
    expect(copies.length).toBeGreaterThan(0);
    expect(foundIn(rows.map(({ row }) => row).join('\n'), { ...secrets, ...bodies })).toEqual([]);
    const own = (await rowsOf({ query }, ['public'])).map(({ row }) => row).join('\n');
    expect(foundIn(own, secrets)).toEqual([]);
    // With the deliveries go the copies.
    await client.query('DELETE FROM deliveries.deliveries');
    const left = await rowsOf({ query }, ['deliveries']);
    expect(foundIn(left.map(({ row }) => row).join('\n'), addresses)).toEqual([]);
  } finally {
    await client.end();
  }
});
