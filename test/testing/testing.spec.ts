import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import {
  DeliveriesModule,
  deliveriesToken,
  DeliveryChannel,
  DeliveryCleaner,
  DeliveryWorkers,
  InvalidRequestError,
  retry,
  skipped,
  succeeded,
  failed,
  UnknownChannelError,
  type Attempt,
  type ChannelHandler,
  type Delivery,
  type DeliveryDraft,
  type DeliveryEvent,
  type Outcome,
} from 'nest-deliveries';
import {
  DeliveriesTester,
  DeliveriesTestingModule,
  EndlessDrainError,
  NotReceivedError,
  NotSettledError,
  startReceiver,
} from 'nest-deliveries/testing';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTestedApp, type TestedApp } from './letters';

interface Note {
  readonly name: string;
  /** What the attempts give, one after the other; then success. */
  readonly answers?: readonly Outcome[];
}

interface Person {
  readonly personId: number;
}

const sends: string[] = [];

@DeliveryChannel({ name: 'note', maxAge: '7d' })
class NoteChannel implements ChannelHandler<Note, Person> {
  deliveries({ type, payload }: DeliveryEvent) {
    return type === 'note_written' ? [{ destination: 'a person', payload: payload as Note }] : [];
  }
  async send({ payload }: Delivery<Note, Person>, { number }: Attempt): Promise<Outcome> {
    sends.push(`${payload.name} ${number}`);
    return payload.answers?.[number - 1] ?? succeeded();
  }
}

@DeliveryChannel({ name: 'other', maxAge: '1d' })
class OtherChannel implements ChannelHandler<Note> {
  deliveries(): [] {
    return [];
  }
  async send(): Promise<Outcome> {
    return succeeded();
  }
}

let database: TestDatabase;
let app: TestedApp;

beforeAll(async () => {
  database = await createTestDatabase();
  app = await startTestedApp(database.url, [NoteChannel, OtherChannel], DeliveriesTestingModule, {
    pollInterval: 50,
  });
});

afterEach(async () => {
  sends.length = 0;
  await database.query('DELETE FROM deliveries.deliveries');
  await database.query('DELETE FROM deliveries.delivery_pauses');
});

afterAll(async () => {
  await app.module.close();
  await database.drop();
});

type NoteDraft = DeliveryDraft<Note, Person>;
const note = (name: string, answers: Outcome[] = [], more: Partial<NoteDraft> = {}): NoteDraft => ({
  destination: 'a person',
  payload: { name, answers },
  ...more,
});
const enqueue = (...drafts: NoteDraft[]) =>
  app.tester.recorder.transaction((tx) => app.tester.recorder.enqueue(tx, NoteChannel, drafts));
const outcomes = (played: { delivery: Delivery; outcome: string; error?: string }[]): string[] =>
  played.map(
    ({ delivery, outcome, error }) => `${(delivery.payload as Note).name} ${outcome}${error ? ` ${error}` : ''}`,
  );

describe('manual mode', () => {
  it('starts no worker, and sends what a drain is told to', async () => {
    expect(app.module.get(DeliveryWorkers).pulses()).toEqual([]);
    await enqueue(note('one'), note('two'));
    expect((await app.tester.recorded(NoteChannel)).map(({ status, attempts }) => [status, attempts])).toEqual([
      ['pending', 0],
      ['pending', 0],
    ]);
    expect(await app.tester.drain({ channel: OtherChannel })).toEqual([]);
    expect(outcomes(await app.tester.drain())).toEqual(['one succeeded', 'two succeeded']);
    expect(await app.tester.drain()).toEqual([]);
    expect(sends).toEqual(['one 1', 'two 1']);
  });

  it('says what each attempt came to', async () => {
    await enqueue(
      note('retried', [retry(503)]),
      note('failed', [failed('bad_address')]),
      note('skipped', [skipped('gone')]),
    );
    expect(outcomes(await app.tester.drain()).toSorted()).toEqual([
      'failed failed bad_address',
      'retried retried 503',
      'skipped skipped gone',
    ]);
  });

  it('plays a time: what becomes due in it is sent, and no more', async () => {
    const hour = 3_600_000;
    await enqueue(
      note('soon', [], { notBefore: new Date(Date.now() + hour / 2) }),
      note('later', [], { notBefore: new Date(Date.now() + 2 * hour) }),
    );
    expect(await app.tester.drain()).toEqual([]);
    expect(outcomes(await app.tester.drain({ until: '1h' }))).toEqual(['soon succeeded']);
    const [later] = await app.tester.recorded(NoteChannel, { payload: { name: 'later' } });
    // The hour has passed to its end, also where nothing was due.
    expect(Math.abs(later!.dueAt.getTime() - Date.now() - hour)).toBeLessThan(5_000);
  });

  it('plays retries to their end, and keys in their order', async () => {
    await enqueue(
      note('first', [retry(503), retry(503)], { orderingKey: 'k' }),
      note('second', [], { orderingKey: 'k' }),
      note('free', [retry('ECONNRESET')]),
    );
    expect(outcomes(await app.tester.drain())).toEqual(['free retried ECONNRESET', 'first retried 503']);
    const played = outcomes(await app.tester.drain({ until: 'settled' }));
    expect(played.filter((each) => !each.startsWith('free'))).toEqual([
      'first retried 503',
      'first succeeded',
      'second succeeded',
    ]);
    expect(played).toContain('free succeeded');
  });

  it('leaves a lane alone for as long as its receiver asks', async () => {
    await enqueue(note('asks', [retry(429, { retryAfter: 600_000 })], { lane: 'a' }));
    expect(outcomes(await app.tester.drain())).toEqual(['asks retried 429']);
    await enqueue(note('same lane', [], { lane: 'a' }), note('another', [], { lane: 'b' }));
    expect(outcomes(await app.tester.drain())).toEqual(['another succeeded']);
    expect(outcomes(await app.tester.drain({ until: '9m' }))).toEqual([]);
    expect(outcomes(await app.tester.drain({ until: '2m' })).toSorted()).toEqual([
      'asks succeeded',
      'same lane succeeded',
    ]);
  });

  it('does not go on for ever', async () => {
    const always = Array.from({ length: 20 }, () => retry(503));
    await enqueue(note('never', always));
    await expect(app.tester.drain({ until: 'settled', atMost: 5 })).rejects.toThrow(EndlessDrainError);
    expect(sends).toHaveLength(6);
  });
});

describe('what was recorded', () => {
  it('is found by a part of it, or by a question', async () => {
    const { recorder } = app.tester;
    await recorder.transaction((tx) =>
      recorder.record(tx, { type: 'note_written', payload: { name: 'ada', answers: [] }, actor: 'eve' }),
    );
    await enqueue(note('bob', [], { recipient: { personId: 7 }, lane: 'l', dedupeKey: 'd' }));
    const names = async (match?: Parameters<typeof app.tester.recorded<NoteChannel>>[1]): Promise<string[]> =>
      (await app.tester.recorded(NoteChannel, match)).map(({ payload }) => payload.name);
    expect(await names()).toEqual(['ada', 'bob']);
    expect(await names({ payload: { name: 'ada' } })).toEqual(['ada']);
    expect(await names({ payload: { answers: [] }, status: 'pending' })).toEqual(['ada', 'bob']);
    expect(await names({ recipient: { personId: 7 } })).toEqual(['bob']);
    expect(await names({ recipient: null })).toEqual(['ada']);
    expect(await names({ lane: 'l', dedupeKey: 'x' })).toEqual([]);
    expect(await names(({ payload }) => payload.name > 'b')).toEqual(['bob']);
    const [{ event } = { event: undefined }] = await app.tester.recorded(NoteChannel, { payload: { name: 'ada' } });
    expect(event).toMatchObject({ type: 'note_written', payload: { name: 'ada' }, actor: 'eve' });
    // What is not committed, or never will be, is not recorded.
    await expect(
      recorder.transaction(async (tx) => {
        await recorder.record(tx, { type: 'note_written', payload: { name: 'cas' } });
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await names()).toEqual(['ada', 'bob']);
  });

  it('belongs to a channel', async () => {
    class NoChannel extends NoteChannel {}
    await expect(app.tester.recorded(NoChannel)).rejects.toThrow(UnknownChannelError);
    await expect(app.tester.drain({ channel: NoChannel })).rejects.toThrow(UnknownChannelError);
  });

  it('settles, or it says what holds it back', async () => {
    await enqueue(
      note('breaks', [failed(410)], { orderingKey: 'k' }),
      note('held up', [], { orderingKey: 'k' }),
      note('works', [retry(500)]),
    );
    const refused = await app.tester.settled().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(NotSettledError);
    const [waiting] = await app.tester.recorded(NoteChannel, { payload: { name: 'held up' } });
    expect((refused as NotSettledError).pending).toEqual([expect.stringContaining(waiting!.id)]);
    expect((refused as Error).message).not.toContain('held up');
    const [broken] = await app.tester.recorded(NoteChannel, { status: 'failed' });
    await app.tester.operations.cancel(broken!.id, { actor: 'test' });
    expect((await app.tester.settled()).map(({ status, error }) => [status, error])).toEqual([
      // Those with a key were recorded last, just before the commit.
      ['succeeded', null],
      ['cancelled', '410'],
      ['succeeded', null],
    ]);
  });
});

describe('the clock', () => {
  it('lets a delivery grow too old', async () => {
    await enqueue(note('old'));
    await app.tester.clock.advance('8d');
    expect(outcomes(await app.tester.drain())).toEqual(['old failed expired']);
    expect(sends).toEqual([]);
  });

  it('lets the lease of a worker that vanished run out', async () => {
    await enqueue(note('held'));
    await database.query(
      `UPDATE deliveries.deliveries SET claim_token = gen_random_uuid(), attempts = 1,
              due_at = clock_timestamp() + interval '60 s', lease_expires_at = clock_timestamp() + interval '60 s'`,
    );
    await app.tester.clock.advance('30s');
    expect(await app.tester.drain()).toEqual([]);
    await app.tester.clock.advance('31s');
    expect(outcomes(await app.tester.drain())).toEqual(['held succeeded']);
    expect(sends).toEqual(['held 2']);
  });

  it('moves every time of every table of the queue', async () => {
    await enqueue(note('done'));
    await app.tester.drain();
    await app.tester.clock.advance('8d');
    expect(await app.module.get(DeliveryCleaner).runOnce()).toMatchObject({ deleted: { succeeded: 1 }, events: 0 });
    await app.tester.clock.advance('31d');
    expect((await app.module.get(DeliveryCleaner).runOnce()).events).toBeGreaterThan(0);
  });

  it.each([0, -1, '1 hour', Number.NaN])('refuses to move by %p', async (by) => {
    await expect(app.tester.clock.advance(by as number)).rejects.toThrow(InvalidRequestError);
  });
});

describe('with workers', () => {
  it('waits for them, and no longer than it is told', async () => {
    const running = await startTestedApp(database.url, [NoteChannel], DeliveriesTestingModule.withWorkers(), {
      pollInterval: 50,
    });
    try {
      expect(running.module.get(DeliveryWorkers).pulses()).toHaveLength(1);
      await enqueue(note('by workers'));
      expect(await running.tester.settled()).toMatchObject([{ status: 'succeeded', attempts: 1 }]);
      await enqueue(note('again', [retry(503)]));
      const refused = running.tester.settled({ within: 200 });
      await expect(refused).rejects.toThrow(/1 still pending.*1 attempts, 503/s);
      await running.tester.clock.advance('1h');
      expect(await running.tester.settled()).toHaveLength(2);
    } finally {
      await running.module.close();
    }
  });
});

@DeliveryChannel({ name: 'bill', maxAge: '1d', module: 'billing' })
class BillChannel extends NoteChannel {}

it('tests one of two modules, and leaves the other to its workers', async () => {
  const second = await createTestDatabase();
  const module = await Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: database.url, retryAttempts: 0 }),
      TypeOrmModule.forRoot({ name: 'billing', type: 'postgres', url: second.url, retryAttempts: 0 }),
      ScheduleModule.forRoot(),
      DeliveriesModule.forRoot({ metrics: false }),
      DeliveriesModule.forRoot({ metrics: false, name: 'billing', dataSource: getDataSourceToken('billing') }),
      DeliveriesTestingModule.forModule('billing'),
    ],
    providers: [NoteChannel, BillChannel],
  }).compile();
  await module.init();
  const billing = module.get<DeliveriesTester>(deliveriesToken(DeliveriesTester, 'billing'));
  expect(module.get<DeliveryWorkers>(deliveriesToken(DeliveryWorkers)).pulses()).toHaveLength(1);
  expect(module.get<DeliveryWorkers>(deliveriesToken(DeliveryWorkers, 'billing')).pulses()).toEqual([]);
  await billing.recorder.transaction((tx) => billing.recorder.enqueue(tx, BillChannel, note('bill')));
  expect(outcomes(await billing.drain())).toEqual(['bill succeeded']);
  expect(await billing.recorded(BillChannel, { status: 'succeeded' })).toHaveLength(1);
  await module.close();
  await second.drop();
});

describe('a receiver', () => {
  it('answers as it is told, and remembers what arrived', async () => {
    const receiver = await startReceiver({ answer: 202 });
    try {
      const post = (body: string, signal?: AbortSignal) =>
        fetch(`${receiver.url}/in?x=1`, { method: 'POST', body, ...(signal ? { signal } : {}) });
      receiver.answer({ status: 429, headers: { 'retry-after': '3' }, body: 'slow' }, 'cut', ({ text }) =>
        text === 'c' ? 418 : 500,
      );
      const first = await post('{"a":1}');
      expect([first.status, first.headers.get('retry-after'), await first.text()]).toEqual([429, '3', 'slow']);
      await expect(post('b')).rejects.toThrow('fetch failed');
      expect((await post('c')).status).toBe(418);
      expect((await post('d')).status).toBe(202);
      receiver.always('hang');
      const abort = new AbortController();
      const hanging = post('e', abort.signal);
      const requests = await receiver.received(5);
      abort.abort();
      await expect(hanging).rejects.toThrow('aborted');
      expect(requests.map(({ text }) => text)).toEqual(['{"a":1}', 'b', 'c', 'd', 'e']);
      expect(requests[0]).toMatchObject({ method: 'POST', path: '/in?x=1' });
      expect(requests[0]!.json()).toEqual({ a: 1 });
      await expect(receiver.received(6, 50)).rejects.toThrow(NotReceivedError);
    } finally {
      await receiver.close();
    }
    await expect(fetch(receiver.url)).rejects.toThrow('fetch failed');
  });
});
