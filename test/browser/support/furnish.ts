import { until } from '../../faults/support/facts';
import type { TestDatabase } from '../../support/test-database';
import type { DashboardApp } from './dashboard-app';

/** Fills an application with what a busy day leaves: for pictures, and for what machines check on them. */
export async function furnish(app: DashboardApp, database: TestDatabase) {
  const { letters, parcels, operations } = app;
  const destinations = Array.from({ length: 18 }, (_, at) => `Acme GmbH, branch ${at + 1}`);
  const late = ['Umbrella: orders', 'Hooli: invoices'];
  for (const [at, name] of destinations.entries()) if (at % 3 === 0) letters.manners.set(name, at % 2 ? '410' : '422');
  letters.manners.set('Initech: orders', '503');
  parcels.manners.set('first of its key', '410');
  const ids = await app.record(
    'letters',
    destinations.map((destination) => ({ destination, recipient: { account: 42 } })),
    'order service',
  );
  const [retrying] = await app.record(
    'letters',
    [{ destination: 'Initech: orders', lane: 'initech' }],
    'order service',
  );
  const [first, blocked] = await app.record('parcels', [
    { destination: 'first of its key', orderingKey: 'customer 98123' },
    { destination: 'second of its key', orderingKey: 'customer 98123' },
  ]);
  const look = 'SELECT FROM deliveries.deliveries WHERE last_error IS NOT NULL OR settled_at IS NOT NULL';
  await until('all were tried', async () => (await database.query(look)).length >= destinations.length + 2);
  await operations.retry(ids[3]!, { actor: 'anna@example.com' });
  await until('it failed again', async () => (await operations.show(ids[3]!)).attempts === 2);
  await operations.cancel(ids[6]!, { actor: 'anna@example.com' });
  await operations.pause(
    { channel: 'letters' },
    { actor: 'anna@example.com', until: new Date(Date.now() + 1_800_000) },
  );
  await operations.pause({ channel: 'letters', lane: 'tenant 7' }, { actor: 'anna@example.com' });
  await app.record(
    'letters',
    late.map((destination) => ({ destination, lane: 'tenant 7' })),
  );
  await spread(database);
  return { failed: ids[3]!, succeeded: ids[1]!, retrying: retrying!, first: first!, blocked: blocked! };
}

/** As if it had happened over the last hour, and 6,000 more had gone out. */
async function spread(database: TestDatabase): Promise<void> {
  await database.query(`
    INSERT INTO deliveries.deliveries (id, event_id, channel, destination, payload, status, attempts, due_at, created_at, settled_at)
    SELECT gen_random_uuid(), gen_random_uuid(), CASE WHEN n % 4 = 0 THEN 'parcels' ELSE 'letters' END, 'Acme GmbH', '{}', 'succeeded', 1,
           at, at - interval '300 ms', at
      FROM generate_series(1, 6000) n,
           LATERAL (SELECT now() - interval '1 hour' * (0.5 + 0.5 * sin(n * 1.7)) * (0.6 + 0.4 * cos(n / 900.0)) AS at) when_it_ended`);
  await database.query(`
    UPDATE deliveries.deliveries SET created_at = created_at - interval '26 minutes', settled_at = settled_at - interval '17 minutes'
     WHERE status = 'failed'`);
}
