import { retry, succeeded } from 'nest-deliveries';
import { until } from '../faults/support/facts';
import { commit, parcels, type Receiver, receiver } from '../order/support/parcels';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

describe('BL-017: what one claim takes of a key is never sent side by side', () => {
  let database: TestDatabase;
  let apps: DeliveriesApp[] = [];

  beforeEach(async () => {
    database = await createTestDatabase();
  });

  afterEach(async () => {
    await Promise.all(apps.map((app) => app.close()));
    apps = [];
    await database.drop();
  });

  /** A receiver that keeps each parcel for a while, and knows how many it had at once. */
  function slowReceiver(workers: number): { to: Receiver; mostAtOnce: () => number } {
    const to = receiver({ workers, concurrency: 10, retry: { first: 10, max: 20 } });
    let most = 0;
    const take = async (answer = succeeded()): Promise<typeof answer> => {
      most = Math.max(most, to.inFlight().length);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return answer;
    };
    to.on('slow', () => take());
    to.on('slow, busy once', (_, { number }) => (number === 1 ? take(retry(503)) : take()));
    return { to, mostAtOnce: () => most };
  }

  const slowly = (count: number) =>
    parcels(count).map(({ n }) => ({ n, script: n % 5 === 0 ? 'slow, busy once' : 'slow' }));

  async function start(to: Receiver, record: boolean): Promise<DeliveriesApp> {
    const app = await startDeliveriesApp(database.url, [to.channel], record ? { run: [] } : {});
    apps.push(app);
    return app;
  }

  it('12 of one key in one transaction, one worker with 10 slots', async () => {
    const { to } = slowReceiver(1);
    const app = await start(to, true);
    await commit(app, to, 'acct-1', ...slowly(12));
    await start(to, false);
    await until('all have arrived', () => to.taken('acct-1').length === 12);
    expect(to.taken('acct-1')).toEqual(parcels(12).map(({ n }) => n));
    expect(to.mostInFlightOfAKey()).toBe(1);
  });

  it('5 keys interleaved, three replicas: keys overlap, deliveries of a key do not', async () => {
    const { to, mostAtOnce } = slowReceiver(1);
    const app = await start(to, true);
    const keys = ['acct-1', 'acct-2', 'acct-3', 'acct-4', 'acct-5'];
    for (const parcel of slowly(12)) {
      for (const key of keys) await commit(app, to, key, parcel);
    }
    await Promise.all([start(to, false), start(to, false), start(to, false)]);
    await until('all have arrived', () => keys.every((key) => to.taken(key).length === 12));
    for (const key of keys) expect(to.taken(key)).toEqual(parcels(12).map(({ n }) => n));
    expect(to.mostInFlightOfAKey()).toBe(1);
    expect(mostAtOnce()).toBeGreaterThan(1);
  });
});
