import { retry, succeeded } from 'nest-deliveries';
import { until } from '../faults/support/facts';
import { attemptsOf, makeDue, rowOf } from '../faults/support/rows';
import { cancel, retryFailed } from '../order/support/operator';
import {
  arrived,
  commit,
  everyKeyWasLookedAt,
  parcels,
  type Receiver,
  receiver,
  unordered,
} from '../order/support/parcels';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

describe('BL-019: a delivery that waits for its retry keeps its place, and holds up its own key only', () => {
  let database: TestDatabase;
  let app: DeliveriesApp | undefined;

  beforeEach(async () => {
    database = await createTestDatabase();
  });

  afterEach(async () => {
    await app?.close();
    app = undefined;
    await database.drop();
  });

  /** The first of K1 is refused, K2 and what has no key come later. Resolves when the first attempt is settled. */
  async function refused(to: Receiver): Promise<string> {
    app = await startDeliveriesApp(database.url, [to.channel]);
    const [first] = await commit(app, to, 'K1', { n: 1, script: 'refused' });
    await commit(app, to, 'K1', { n: 2 }, { n: 3 });
    await until('the first attempt is settled', async () => (await attemptsOf(database, first!)).length === 1);
    await commit(app, to, 'K2', ...parcels(3));
    await commit(app, to, undefined, ...parcels(3));
    await arrived(to, 'K2', 1, 2, 3);
    await until('what has no key has arrived', () => to.of(unordered).length === 3);
    expect(to.of('K1')).toEqual([1]);
    return first!;
  }

  it('fails twice and then succeeds: 1, 1, 1, 2, 3', async () => {
    const to = receiver({ retry: { first: '1h', max: '1h' } });
    to.on('refused', (_, { number }) => (number <= 2 ? retry(503) : succeeded()));
    const first = await refused(to);
    await makeDue(database, first);
    await until('the second attempt is settled', async () => (await attemptsOf(database, first)).length === 2);
    await everyKeyWasLookedAt(app!, to);
    expect(to.of('K1')).toEqual([1, 1]);
    await makeDue(database, first);
    await arrived(to, 'K1', 1, 1, 1, 2, 3);
  });

  it('waits as long as Retry-After asks', async () => {
    const to = receiver({ retry: { first: 10, max: 10 } });
    to.on('refused', (_, { number }) => (number === 1 ? retry(503, { retryAfter: '4' }) : succeeded()));
    const first = await refused(to);
    const { due_at: due } = await rowOf(database, first);
    const [attempt] = await database.query<{ ended_at: Date }>('SELECT ended_at FROM deliveries.delivery_attempts');
    expect(due.getTime() - attempt!.ended_at.getTime()).toBeGreaterThan(3_900);
    await everyKeyWasLookedAt(app!, to);
    expect(to.of('K1')).toEqual([1]);
    await makeDue(database, first);
    await arrived(to, 'K1', 1, 1, 2, 3);
  });

  it('cancelled while it waits, it lets the second go at once', async () => {
    const to = receiver({ retry: { first: '1h', max: '1h' } });
    to.on('refused', () => retry(503));
    const first = await refused(to);
    await cancel(app!, first);
    await arrived(to, 'K1', 1, 2, 3);
    expect(await attemptsOf(database, first)).toHaveLength(1);
  });

  it('failed and retried by an operator after the others were recorded, it goes first', async () => {
    const to = receiver({ retry: { first: 1, max: 1 }, maxAttempts: 1 });
    to.on('refused', (_, { number }) => (number === 1 ? retry(503) : succeeded()));
    const first = await refused(to);
    expect(await rowOf(database, first)).toMatchObject({ status: 'failed', last_error: '503' });
    await everyKeyWasLookedAt(app!, to);
    expect(to.of('K1')).toEqual([1]);
    await retryFailed(app!, first);
    await arrived(to, 'K1', 1, 1, 2, 3);
  });
});
