import { insertDeliveries } from '../admin/support/table';
import { countByStatus } from '../faults/support/rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { deliveries, expectEnds, expectOneLine, inTurn } from './support';

jest.setTimeout(120_000);

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const id = '01a00000-0000-7000-8000-000000000000';

it('BL-045: every command ends when the port is closed, and when it may not come in', async () => {
  const everyCommand = [
    ['list'],
    ['show', id],
    ['retry', id],
    ['retry', '--status', 'failed', '--dry-run'],
    ['cancel', id],
    ['cancel', '--status', 'failed'],
    ['stats'],
    ['pause', 'mail'],
    ['resume', 'mail'],
    ['clean-up'],
    ['migrate'],
    ['migrate', '--status'],
  ];
  const stranger = new URL(database.url);
  stranger.username = 'nobody_knows_me';
  const urls = ['postgres://127.0.0.1:1/x', stranger.toString()];
  const ends = await inTurn(everyCommand.flatMap((args) => urls.map((url) => () => deliveries(args, url))));
  for (const end of ends) {
    expectOneLine(end, /PostgreSQL cannot be reached: /);
    expect(end.lingered).toBeLessThan(1_000);
  }
});

it('every mistake in a command is told, and nothing is done', async () => {
  await insertDeliveries(database, { count: 1, status: 'pending' });
  await expectEnds(database.url, [
    [1, /There is no delivery/, ['show', id]],
    [2, /limit must be a whole number from 1 to 100000/, ['list', '--limit', '0']],
    [2, /createdAfter must be a date, or an instant/, ['list', '--created-after', 'yesterday']],
    [2, /olderThan must be/, ['list', '--older-than', 'long']],
    [2, /id must be given, or else the options/, ['cancel']],
    [2, /id must be given, or else the options/, ['retry', id, '--status', 'failed']],
    [2, /dry-run is for all that match/, ['cancel', id, '--dry-run']],
    [2, /spreadOver must be/, ['retry', '--status', 'failed', '--spread-over', 'wide']],
    [
      2,
      /must be a channel of this application.*the nearest is "partner_notification"/,
      ['pause', 'partner_notifcation'],
    ],
    [2, /for must be a duration/, ['pause', 'mail', '--for', 'ever']],
    [2, /and --until exclude each other/, ['pause', 'mail', '--for', '1h', '--until', '2099-01-01']],
    [2, /missing required argument 'id'/, ['show']],
    [2, /too many arguments/, ['stats', 'mail']],
    [0, /^$/, ['--help']],
  ]);
  expect(await countByStatus(database)).toEqual({ pending: 1 });
});
