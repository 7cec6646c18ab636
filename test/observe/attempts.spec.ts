import { ConsoleLogger, Logger, type LoggerService } from '@nestjs/common';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  attemptChannel,
  failed,
  retry,
  skipped,
  succeeded,
  type DeliveriesOptions,
  type EndedAttempt,
} from 'nest-deliveries';
import { enqueueOne } from '../faults/support/enqueue';
import { gate, until } from '../faults/support/facts';
import { scriptedChannel, type ScriptedChannel } from '../faults/support/scripted-channel';
import { startDeliveriesApp, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;
let app: DeliveriesApp;
let mail: ScriptedChannel;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await app.close();
  await database.query('DELETE FROM deliveries.deliveries');
});
afterAll(() => database.drop());

type Level = 'debug' | 'log' | 'warn' | 'error';
type Line = readonly [level: Level, message: unknown];

async function start(options: DeliveriesOptions = {}): Promise<void> {
  mail = scriptedChannel({ name: 'mail', maxAge: '1d' });
  mail.on('again', () => retry(503));
  mail.on('never', () => failed('mailbox_gone'));
  mail.on('moot', () => skipped('address_removed'));
  app = await startDeliveriesApp(database.url, [mail.type], { retry: { first: '1h' }, ...options });
}

/** What a logger that takes objects is given about attempts. To be called after the start, which sets a logger of its own. */
function attemptLines(): Line[] {
  const lines: Line[] = [];
  const at =
    (level: Level) =>
    (message: unknown): void =>
      void (isAttempt(message) && lines.push([level, message]));
  const logger: LoggerService = { debug: at('debug'), log: at('log'), warn: at('warn'), error: at('error') };
  Logger.overrideLogger(logger);
  return lines;
}

const isAttempt = (message: unknown): boolean =>
  typeof message === 'object' && message !== null && 'outcome' in message;

/** Sends one of each, and gives their ids. */
async function sendAll(): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  for (const script of ['well', 'again', 'never', 'moot']) {
    ids[script] = await enqueueOne(
      app,
      mail,
      { script },
      { destination: 'ada@example.com', recipient: { address: 'ada@example.com' } },
    );
  }
  await until('all are counted', () => {
    const { succeeded: well, retried, failed: never } = app.tally.of('mail');
    return well === 2 && retried === 1 && never === 1;
  });
  return ids;
}

it('gives each attempt one line, at a level of its own, with ids, numbers and kinds, and nothing else', async () => {
  await start();
  const lines = attemptLines();
  const ids = await sendAll();
  const line = (id: string | undefined, outcome: string, kind: string | undefined): unknown => ({
    deliveryId: id,
    eventId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    channel: 'mail',
    attempt: 1,
    outcome,
    kind,
    durationMs: expect.any(Number) as number,
    waitedMs: expect.any(Number) as number,
  });
  const fields = lines.map(([level, message]) => [level, { ...(message as object) }]);
  expect(fields).toHaveLength(4);
  expect(fields).toEqual(
    expect.arrayContaining([
      ['debug', line(ids['well'], 'succeeded', undefined)],
      ['log', line(ids['again'], 'retried', '503')],
      ['warn', line(ids['never'], 'failed', 'mailbox_gone')],
      ['debug', line(ids['moot'], 'succeeded', 'address_removed')],
    ]),
  );
  expect(JSON.stringify(lines) + lines.map(([, message]) => String(message)).join()).not.toContain('ada@');
});

it('says so when an outcome came too late, and when something was not sent at all', async () => {
  await start();
  const lines = attemptLines();
  const { passed, open } = gate();
  mail.on('late', async () => {
    await passed;
    return succeeded();
  });
  const late = await enqueueOne(app, mail, { script: 'late' });
  await until('it is in flight', () => mail.inFlight().length === 1);
  await app.operations.cancel(late, { actor: 'test' });
  open();
  await until('it is counted', () => app.tally.of('mail').lease_lost === 1);
  const expired = await app.recorder.transaction(async (tx) => {
    const { id } = await app.recorder.enqueue(tx, mail.type, { destination: 'test', payload: {} });
    await tx.query(`UPDATE deliveries.deliveries SET created_at = created_at - interval '2 d' WHERE id = $1`, [id]);
    return id;
  });
  await until('it has failed', () => app.tally.of('mail').failed === 1);
  expect(lines).toHaveLength(2);
  expect(lines.map(([level, message]) => [level, String(message).replace(/[\d.]+ ms/, 'N ms')])).toEqual([
    [
      'warn',
      `Delivery ${late} of channel "mail", attempt 1: lost lease after N ms. The outcome came too late, or the delivery was cancelled; it was dropped.`,
    ],
    ['warn', `Delivery ${expired} of channel "mail", attempt 1: failed (expired), not sent.`],
  ]);
});

it('prints a sentence on a terminal, and the fields as JSON', async () => {
  await start();
  const written: string[] = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  Logger.overrideLogger(new ConsoleLogger({ colors: false }));
  const [id] = [await enqueueOne(app, mail, {})];
  await until('it is printed', () => written.length === 1);
  expect(written[0]).toMatch(
    new RegExp(
      `^\\[Nest\\] .* DEBUG \\[Deliveries\\] Delivery ${id} of channel "mail", attempt 1: succeeded after [\\d.]+ ms\\.\\n$`,
    ),
  );
  Logger.overrideLogger(new ConsoleLogger({ json: true }));
  const other = await enqueueOne(app, mail, {});
  await until('it is printed', () => written.length === 2);
  expect(JSON.parse(written[1]!)).toMatchObject({
    level: 'debug',
    context: 'Deliveries',
    message: { deliveryId: other, channel: 'mail', attempt: 1, outcome: 'succeeded' },
  });
  // A level that is off prints nothing.
  Logger.overrideLogger(new ConsoleLogger({ logLevels: ['warn'], colors: false }));
  await enqueueOne(app, mail, {});
  const never = await enqueueOne(app, mail, { script: 'never' });
  await until('the failure is printed', () => written.some((text) => text.includes(never)));
  await until('the success before it is counted', () => app.tally.of('mail').succeeded === 3);
  expect(written).toHaveLength(3);
});

it.each([
  ['unsuccessful', ['log', 'warn']],
  ['none', []],
] as const)('logAttempts: %j', async (logAttempts, levels) => {
  await start({ logAttempts });
  const lines = attemptLines();
  await sendAll();
  expect(lines.map(([level]) => level).toSorted()).toEqual(levels);
});

it('publishes each attempt on its diagnostics channel, whatever is logged', async () => {
  await start({ logAttempts: 'none' });
  const heard: EndedAttempt[] = [];
  const listener = (message: unknown): void => void heard.push(message as EndedAttempt);
  subscribe(attemptChannel, listener);
  const ids = await sendAll();
  unsubscribe(attemptChannel, listener);
  expect(heard).toHaveLength(4);
  expect(heard).toContainEqual(
    expect.objectContaining({ deliveryId: ids['again'], channel: 'mail', outcome: 'retried', kind: '503', attempt: 1 }),
  );
});
