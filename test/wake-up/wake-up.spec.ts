import { WakeUps } from 'nest-deliveries';
import { Client } from 'pg';
import { Listener, listenerPace, type ListenerPace } from '../../libs/deliveries/src/wake-up/listener';
import {
  decodeNotification,
  encodeNotification,
  notificationChannel,
} from '../../libs/deliveries/src/wake-up/notification';
import { enqueue, enqueueOne } from '../faults/support/enqueue';
import { gate, until } from '../faults/support/facts';
import { type Line, lineTo } from '../faults/support/line';
import { type ScriptedChannel, scriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp, type TestOptions } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { type DeafLine, deafLineTo } from './deaf-line';

let database: TestDatabase;
let apps: DeliveriesApp[] = [];
let line: Line | undefined;
let deaf: DeafLine | undefined;
let listeners: Listener[] = [];

/** No poll comes in the time of a test: what is sent was woken. */
const noPolls: TestOptions = { pollInterval: '1h', wakeUps: true };

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  jest.restoreAllMocks();
  line?.thaw();
  await Promise.all(listeners.map((listener) => listener.stop()));
  await Promise.all(apps.map((app) => app.close()));
  await line?.close();
  await deaf?.close();
  [apps, listeners, line, deaf] = [[], [], undefined, undefined];
  await database.drop();
});

const mail = (): ScriptedChannel =>
  scriptedChannel({ name: 'mail', maxAge: '1d', workers: 1, concurrency: 2, sendTimeout: '20s', lease: '60s' });

async function start(channel: ScriptedChannel, options: TestOptions): Promise<DeliveriesApp> {
  const app = await startDeliveriesApp(database.url, [channel.type], options);
  apps.push(app);
  return app;
}

const stateOf = (app: DeliveriesApp) => app.module.get(WakeUps).state;

/** An application that has looked at what was there when it started, and hears. */
async function startIdle(channel: ScriptedChannel, options: TestOptions = noPolls): Promise<DeliveriesApp> {
  const app = await start(channel, options);
  await until('it listens', () => options.listen === false || stateOf(app) === 'listening');
  const before = channel.calls.length;
  await enqueueOne(app, channel, {});
  await until('it has looked', () => channel.calls.length > before && channel.inFlight().length === 0);
  channel.calls.length = 0;
  return app;
}

describe('a commit wakes the workers of its process', () => {
  it.each([
    ['on each path', {}],
    ['in a lane', { lane: 'a' }],
    ['with a key', { orderingKey: 'k' }],
    ['with a dedupe key', { dedupeKey: 'd' }],
  ])('%s', async (_, more) => {
    const channel = mail();
    const app = await startIdle(channel, { ...noPolls, listen: false });
    await enqueueOne(app, channel, {}, more);
    await until('it is sent', () => channel.calls.length === 1);
    expect(stateOf(app)).toBe('off');
  });

  it('however the transaction was opened; one that rolls back, a savepoint and a time of its own wake nobody', async () => {
    const channel = mail();
    const app = await startIdle(channel);
    const woken = jest.spyOn(WakeUps.prototype, 'committed');
    const draft = { destination: 'test', payload: {} };
    const { recorder, dataSource } = app;

    await dataSource.transaction(async (tx) => {
      await recorder.enqueue(tx, channel.type, draft);
      await tx.transaction((inner) => recorder.enqueue(inner, channel.type, draft));
      expect(woken).not.toHaveBeenCalled();
    });
    await until('what was committed is sent', () => channel.calls.length === 2);
    expect(woken.mock.calls).toEqual([[[{ channel: 'mail', path: 'plain', count: 2 }]]]);

    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    await recorder.enqueue(runner, channel.type, draft);
    await runner.rollbackTransaction();
    await runner.startTransaction();
    await recorder.enqueue(runner, channel.type, { ...draft, notBefore: new Date(Date.now() + 3_600_000) });
    await runner.commitTransaction();
    expect(woken).toHaveBeenCalledTimes(1);
    await runner.startTransaction();
    await recorder.enqueue(runner, channel.type, { ...draft, lane: 'a' });
    await runner.commitTransaction();
    await runner.release();
    await until('it is sent', () => channel.calls.length === 3);
    expect(woken.mock.calls.slice(1)).toEqual([[[{ channel: 'mail', path: 'lane', count: 1 }]]]);
  });
});

describe('NOTIFY wakes other processes', () => {
  it('from one that only records, after its commit and never before', async () => {
    const channel = mail();
    await startIdle(channel);
    const recorder = await start(channel, { ...noPolls, run: [] });
    const held = gate();
    const recorded = gate();
    const transaction = recorder.recorder.transaction(async (tx) => {
      await recorder.recorder.enqueue(tx, channel.type, { destination: 'test', payload: {} });
      recorded.open();
      await held.passed;
    });
    await recorded.passed;
    const other = await enqueueOne(recorder, channel, { n: 1 }, { orderingKey: 'k' });
    await until('a later one that is committed is sent', () => channel.calls.length === 1);
    expect(channel.calls[0]!.id).toBe(other);
    held.open();
    await transaction;
    await until('so is the first, once it is committed', () => channel.calls.length === 2);
  });

  it('from one whose workers have no room, from an operator’s command, and not for what its own workers can take', async () => {
    const channel = mail();
    const helper = mail();
    const held = gate();
    for (const each of [channel, helper]) each.on('gated', () => held.passed.then(() => ({ type: 'succeeded' })));
    const app = await startIdle(channel);
    const heard: unknown[] = [];
    const listener = new Client({ connectionString: database.url });
    await listener.connect();
    listener.on('notification', ({ payload }) => {
      const notification = decodeNotification(payload);
      if ('work' in notification) heard.push(notification.work);
    });
    await listener.query(`LISTEN ${notificationChannel('deliveries')}`);
    await enqueueOne(app, channel, {});
    await until('it is sent here', () => channel.calls.length === 1);

    await startIdle(helper);
    const room = { channel: 'mail', path: 'plain', count: 1 };
    expect(heard.filter((work) => JSON.stringify(work).includes('ordered'))).toEqual([]);
    await enqueue(app, channel, [{ script: 'gated' }, { script: 'gated' }, { script: 'gated' }, { script: 'gated' }]);
    await until('the other takes what is left', () => channel.inFlight().length + helper.inFlight().length === 4);
    await until('it was told', () => JSON.stringify(heard).includes(JSON.stringify({ ...room, count: 4 })));
    held.open();
    await until('all are done', () => channel.inFlight().length + helper.inFlight().length === 0);

    const later = await enqueueOne(app, channel, {}, { notBefore: new Date(Date.now() + 3_600_000) });
    await app.operations.cancel(later, { actor: 'somebody' });
    const sent = channel.calls.length + helper.calls.length;
    await app.operations.retry(later, { actor: 'somebody' });
    await until('a retry is due at once', () => channel.calls.length + helper.calls.length === sent + 1);
    await listener.end();
  });

  it('says less when it would say too much, and takes what it does not understand for a call to look everywhere', () => {
    const work = Array.from(
      { length: 100 },
      (_, n) => ({ channel: `${n}`.repeat(60), path: 'plain', count: 1 }) as const,
    );
    expect(decodeNotification(encodeNotification({ from: 'a', work: work.slice(0, 1) }))).toEqual({
      from: 'a',
      work: work.slice(0, 1),
    });
    expect(decodeNotification(encodeNotification({ from: 'a', work }))).toEqual({ from: 'a', work: 'any' });
    expect(decodeNotification(encodeNotification({ from: 'a', probe: 3 }))).toEqual({ from: 'a', probe: 3 });
    for (const stray of [
      undefined,
      '',
      'null',
      '5',
      '{"from":1}',
      '{"from":"a","work":[{"channel":1}]}',
      '{"from":"a"}',
    ]) {
      expect(decodeNotification(stray)).toMatchObject({ work: 'any' });
    }
    expect(notificationChannel('a')).toBe('deliveries_a');
    expect(notificationChannel('x'.repeat(63)).length).toBeLessThanOrEqual(63);
    expect(notificationChannel('x'.repeat(63))).not.toBe(notificationChannel('y'.repeat(63)));
  });
});

describe('LISTEN that is lost is found and mended', () => {
  /** In 1/50 of the time that it takes in production. */
  const pace: ListenerPace = { probeEvery: 300, patience: 200, reconnectWithin: 60, deafFor: 300 };

  interface Ear {
    readonly listener: Listener;
    /** How often it began to hear. */
    readonly began: () => number;
    readonly heard: string[];
  }

  function listen(url: string): Ear {
    let began = 0;
    const heard: string[] = [];
    const listener = new Listener(
      { connectionString: url },
      'deliveries_x',
      'me',
      (payload) => database.query('SELECT pg_notify($1, $2)', ['deliveries_x', payload]),
      ({ from }) => heard.push(from),
      () => (began += 1),
      pace,
    );
    listener.start();
    listeners.push(listener);
    return { listener, began: () => began, heard };
  }

  const say = (from: string) =>
    database.query('SELECT pg_notify($1, $2)', ['deliveries_x', encodeNotification({ from, work: 'any' })]);

  it('within 35 seconds at the pace of production, whatever the connection died of', () => {
    const { probeEvery, patience, reconnectWithin } = listenerPace;
    // A probe that is just over, the next one in vain, a wait, a connection and the probe that proves it.
    expect(probeEvery + patience + reconnectWithin + 2 * patience).toBeLessThanOrEqual(35_000);
  });

  it('stopped while it waits to hear itself, with nothing left that holds the process', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    let said = 0;
    const never = (): Promise<never> => {
      said += 1;
      return new Promise(() => undefined);
    };
    const hears = jest.fn();
    const listener = new Listener({ connectionString: database.url }, 'deliveries_x', 'me', never, hears, hears);
    listener.start();
    await until('it has spoken', () => said === 1);
    expect(timers()).toBeGreaterThan(before);
    await listener.stop();
    expect(timers()).toBeLessThanOrEqual(before);
    expect(hears).not.toHaveBeenCalled();
  });

  it('terminated', async () => {
    const ear = listen(database.url);
    await until('it hears', () => ear.listener.state === 'listening');
    await database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'nest-deliveries listen' AND datname = current_database()`,
    );
    await until('it hears again, and everybody looks', () => ear.began() === 2);
    await say('you');
    await until('what is said arrives', () => ear.heard.length > 0);
    expect(ear.heard).toEqual(['you']);
  });

  it('half-open: frozen without an end, and the server refuses for a while after', async () => {
    line = await lineTo(database.url);
    const ear = listen(line.url);
    await until('it hears', () => ear.listener.state === 'listening');
    line.freeze();
    await until('it notices', () => ear.listener.state === 'connecting');
    line.refuse();
    line.thaw();
    await until('it tries again', () => line!.connections() === 0);
    expect(ear.began()).toBe(1);
    line.accept();
    await until('it hears again, and everybody looks', () => ear.began() === 2);
    await say('you');
    await until('what is said arrives', () => ear.heard.includes('you'));
  });

  it('deaf, behind a pooler that swallows notifications: polls serve, and it hears when it can', async () => {
    deaf = await deafLineTo(database.url);
    const ear = listen(deaf.url);
    await until('it knows', () => ear.listener.state === 'deaf');
    expect(ear.began()).toBe(0);
    deaf.hear();
    await until('it hears', () => ear.listener.state === 'listening');
    deaf.deafen();
    await until('it knows again', () => ear.listener.state === 'deaf');
  });

  it('in an application: polls serve while it is lost, and what came meanwhile is sent when it is back', async () => {
    line = await lineTo(database.url);
    const channel = mail();
    const app = await start(channel, { listen: { connection: { connectionString: line.url } } });
    await until('it listens', () => stateOf(app) === 'listening');
    line.refuse();
    line.cut();
    await until('it knows', () => stateOf(app) === 'connecting');
    const recorder = await start(channel, { ...noPolls, run: [] });
    await enqueueOne(recorder, channel, {});
    await until('a poll finds it', () => channel.calls.length === 1);
    line.accept();
    await until('it listens again', () => stateOf(app) === 'listening');
    expect(channel.calls).toHaveLength(1);
  });
});
