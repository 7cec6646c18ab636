import { succeeded } from 'nest-deliveries';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { captureLog } from './support/captured-log';
import { enqueueOne } from './support/enqueue';
import { gate, until } from './support/facts';
import { type Line, lineTo } from './support/line';
import { attemptsOf, rowOf } from './support/rows';
import { scriptedChannel } from './support/scripted-channel';

describe('a line that is frozen for longer than a lease', () => {
  let database: TestDatabase;
  let app: DeliveriesApp;
  let line: Line | undefined;

  beforeEach(async () => {
    database = await createTestDatabase();
  });

  afterEach(async () => {
    line?.thaw();
    await app.close();
    await line?.close();
    line = undefined;
    await database.drop();
  });

  it('gives up an outcome that a frozen line swallows, and counts what is sent again only once', async () => {
    line = await lineTo(database.url);
    const channel = scriptedChannel({ name: 'mail', maxAge: '1d', workers: 1, sendTimeout: 100, lease: 5_100 });
    const release = gate();
    channel.on('gated', () => release.passed.then(succeeded));
    app = await startDeliveriesApp(database.url, [channel.type], { connection: line.connection });
    const id = await enqueueOne(app, channel, { script: 'gated' });
    await until('it is in flight', () => channel.inFlight().length === 1);
    line.freeze();
    release.open();
    const other = scriptedChannel({ name: 'mail', maxAge: '1d' });
    const taker = await startDeliveriesApp(database.url, [other.type]);
    const log = captureLog();
    try {
      await database.query(
        `UPDATE deliveries.deliveries SET due_at = clock_timestamp(), lease_expires_at = clock_timestamp() WHERE id = $1`,
        [id],
      );
      await until('another replica has sent it', async () => (await rowOf(database, id)).status === 'succeeded');
      await until('the outcome is given up', () => log.some((text) => text.includes('could not be recorded')), 30_000);
      expect(app.tally.of('mail')).toEqual({ succeeded: 0, retried: 0, failed: 0, lease_lost: 0 });
      expect(taker.tally.of('mail')).toMatchObject({ succeeded: 1 });
      expect(other.calls).toMatchObject([{ id, attempt: 2 }]);
      expect(await attemptsOf(database, id)).toEqual([{ number: 1, outcome: 'crashed', error: 'crashed' }]);
      line.thaw();
      // And it goes on by itself.
      const next = await enqueueOne(app, channel, {});
      await until('the next one arrives', async () => (await rowOf(database, next)).status === 'succeeded');
    } finally {
      await taker.close();
    }
  }, 60_000);
});
