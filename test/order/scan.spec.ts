import { failed, succeeded } from 'nest-deliveries';
import { Claimer, type KeyCursor } from '../../libs/deliveries/src/claim/claimer';
import { WorkerDatabase } from '../../libs/deliveries/src/database/worker-database';
import { gate, until } from '../faults/support/facts';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { insertKeys } from './support/crowd';
import { commit, everyKeyWasLookedAt, receiver, unordered } from './support/parcels';

let database: TestDatabase;
let workerDatabase: WorkerDatabase | undefined;
let app: DeliveriesApp | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await app?.close();
  await workerDatabase?.close();
  app = workerDatabase = undefined;
  await database.drop();
});

function claimer(): Claimer {
  workerDatabase = new WorkerDatabase({ connectionString: database.url, max: 1 });
  return new Claimer(workerDatabase, '"deliveries"');
}

/** Looks until there is no more, as a worker does. @returns the keys that were claimed, look by look */
async function pass(heads: Claimer, cursor: KeyCursor, slots: number, most = 50): Promise<string[][]> {
  const looks: string[][] = [];
  for (let more = true; more;) {
    const found = await heads.claimHeads('parcels', slots, 60_000, cursor);
    looks.push(found.claims.map(({ delivery }) => delivery.orderingKey!).toSorted());
    if (looks.length === most) throw new Error('The pass does not end.');
    more = found.more;
  }
  return looks;
}

const anew = (): KeyCursor => ({ key: '', fromStart: false });

describe('a scan of the keys', () => {
  it('looks at 1,000 keys at most, goes on from there, and ends when it has seen them all', async () => {
    await insertKeys(database, { keys: 2_500, prefix: 'k', status: 'failed' });
    await insertKeys(database, { keys: 1, prefix: 'a' });
    await insertKeys(database, { keys: 1, prefix: 'z' });
    const heads = claimer();
    const cursor = anew();
    expect(await pass(heads, cursor, 10)).toEqual([['a000001'], [], ['z000001']]);
    // From the start again, and once only: keys whose heads are stuck are not looked at in a circle.
    expect(await pass(heads, cursor, 10)).toEqual([[], [], []]);
  });

  it('of exactly 1,000 keys ends, too', async () => {
    await insertKeys(database, { keys: 1_000, prefix: 'k', status: 'failed' });
    const cursor = anew();
    expect(await pass(claimer(), cursor, 10)).toEqual([[], []]);
    expect(cursor.key).toBe('');
  });

  it('stops when it has a head for every slot, and the next one begins behind that', async () => {
    await insertKeys(database, { keys: 5, prefix: 'k' });
    const cursor = anew();
    expect(await pass(claimer(), cursor, 2)).toEqual([['k000001', 'k000002'], ['k000003', 'k000004'], ['k000005']]);
  });

  it('begins anew, after its end, for what woke the worker when it was in the middle', async () => {
    await insertKeys(database, { keys: 3, prefix: 'k' });
    const heads = claimer();
    const cursor = anew();
    const { claims, more } = await heads.claimHeads('parcels', 2, 60_000, cursor);
    expect([claims.length, more, cursor.key]).toEqual([2, true, 'k000002']);
    await insertKeys(database, { keys: 1, prefix: 'a' });
    // What a wake-up does.
    cursor.fromStart = false;
    expect(await pass(heads, cursor, 2)).toEqual([['k000003'], ['a000001']]);
  });

  it('finds what comes after a cancelled head whose lease has ended, wherever it stopped', async () => {
    await insertKeys(database, { keys: 2, prefix: 'k', each: 2 });
    await insertKeys(database, { keys: 1, prefix: 'z' });
    await database.query(
      `UPDATE deliveries.deliveries SET status = 'cancelled', lease_expires_at = clock_timestamp() WHERE ordinal = 1 AND ordering_key <> 'z000001'`,
    );
    // The third key fills the only slot: the scan stops there, with what it released behind it.
    expect(await pass(claimer(), anew(), 1)).toEqual([['z000001'], [], ['k000001'], ['k000002'], []]);
  });

  it('leaves other channels, unordered deliveries and what is not due alone', async () => {
    await insertKeys(database, { keys: 2, prefix: 'k', channel: 'others' });
    await insertKeys(database, { keys: 2, prefix: 'later', due: '1 hour' });
    await commitUnordered();
    expect(await pass(claimer(), anew(), 10)).toEqual([[]]);
  });

  async function commitUnordered(): Promise<void> {
    const to = receiver();
    app = await startDeliveriesApp(database.url, [to.channel], { run: [] });
    await commit(app, to, undefined, { n: 1 });
  }
});

it('a worker whose scan is in the middle finds, without a poll, what a wake-up tells it of behind', async () => {
  const to = receiver({ workers: 1, concurrency: 1, sendTimeout: '20s', lease: '60s' });
  const { passed, open } = gate();
  to.on('wait', async () => {
    await passed;
    return succeeded();
  });
  const recorder = (app = await startDeliveriesApp(database.url, [to.channel], { pollInterval: '1h' }));
  await everyKeyWasLookedAt(recorder, to);
  await commit(recorder, to, 'k', { n: 1, script: 'wait' });
  await commit(recorder, to, 'z', { n: 1 });
  recorder.workers.wake();
  await until('the only slot is taken', () => to.inFlight().length === 1);
  await commit(recorder, to, 'a', { n: 1 });
  recorder.workers.wake();
  open();
  await until('all have arrived', () => to.taken('k').length + to.taken('z').length + to.taken('a').length === 3);
  expect(to.arrivals.slice(-3).map(({ key }) => key)).toEqual(['k', 'z', 'a']);
});

it('keys that always have more waiting starve no other key', async () => {
  // One slot, and settles that claim nothing after a failure: each key is claimed by a scan, again and again.
  const to = receiver({ workers: 1, concurrency: 1, retry: { first: 1, max: 1 }, maxAttempts: 1 });
  to.on('', () => failed(422));
  await insertKeys(database, { keys: 5, prefix: 'k', each: 200 });
  await insertKeys(database, { keys: 1, prefix: 'z' });
  app = await startDeliveriesApp(database.url, [to.channel], { pollInterval: '1h' });
  await until('the last key has had its turn', () => to.of('z000001').length === 1);
  expect(to.of(unordered)).toEqual([]);
});
