import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { failed, QueueCounter, retry, skipped, succeeded, type DeliveriesOptions } from 'nest-deliveries';
import { Registry } from 'prom-client';
import { ObserverDatabase } from '../../libs/deliveries/src/observe/observer-database';
import { enqueue, enqueueOne } from '../faults/support/enqueue';
import { gate, until } from '../faults/support/facts';
import { scriptedChannel, type ScriptedChannel } from '../faults/support/scripted-channel';
import { startDeliveriesApp, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { countedIndexes, fillPending, planOfCount } from './support/count-plan';
import { samplesOf, type Samples } from './support/samples';

let database: TestDatabase;
let app: DeliveriesApp;
let registry: Registry;
let mail: ScriptedChannel;
let post: ScriptedChannel;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await app.close();
  await database.query('DELETE FROM deliveries.deliveries');
});
afterAll(() => database.drop());

async function start(options: DeliveriesOptions = {}): Promise<void> {
  registry = new Registry();
  mail = scriptedChannel({ name: 'mail', maxAge: '1d' });
  post = scriptedChannel({ name: 'post', maxAge: '1d' });
  app = await startDeliveriesApp(database.url, [mail.type, post.type], { metrics: { registry }, ...options });
}

/** The samples after a count that began now. */
async function counted(): Promise<Samples> {
  const counter = app.module.get(QueueCounter);
  await counter.runOnce();
  // One that was under way had not seen what the test did last.
  await counter.runOnce();
  return samplesOf(registry);
}

const pending = 'deliveries_pending{channel="mail"}';
const oldest = 'deliveries_oldest_pending_age_seconds{channel="mail"}';
const attempts = (outcome: string, channel = 'mail'): string =>
  `deliveries_attempts_total{channel="${channel}",outcome="${outcome}"}`;

it('counts attempts by how they ended, once each, from zero', async () => {
  await start();
  const before = await samplesOf(registry);
  for (const outcome of ['succeeded', 'retried', 'failed', 'lease_lost']) {
    expect(before).toMatchObject({ [attempts(outcome)]: 0, [attempts(outcome, 'post')]: 0 });
  }
  const { passed, open } = gate();
  mail.on('again', (_delivery, { number }) => (number === 1 ? retry(503) : succeeded()));
  mail.on('never', () => failed(404));
  mail.on('moot', () => skipped('address_removed'));
  mail.on('late', async () => {
    await passed;
    return succeeded();
  });
  const late = await enqueueOne(app, mail, { script: 'late' });
  app.workers.wake();
  await until('it is in flight', () => mail.inFlight().length === 1);
  expect(await samplesOf(registry)).toMatchObject({
    'deliveries_in_flight{channel="mail"}': 1,
    'deliveries_in_flight{channel="post"}': 0,
  });
  await app.operations.cancel(late, { actor: 'test' });
  open();
  await enqueue(app, mail, [{}, { script: 'again' }, { script: 'never' }, { script: 'moot' }]);
  await enqueue(app, post, [{}]);
  await until('all are counted', async () => {
    const samples = await samplesOf(registry);
    return samples[attempts('succeeded')] === 3 && samples[attempts('lease_lost')] === 1;
  });
  const after = await samplesOf(registry);
  expect(after).toMatchObject({
    [attempts('succeeded')]: 3,
    [attempts('retried')]: 1,
    [attempts('failed')]: 1,
    [attempts('lease_lost')]: 1,
    'deliveries_in_flight{channel="mail"}': 0,
    'deliveries_send_duration_seconds_count{channel="mail"}': 6,
    'deliveries_time_to_send_seconds_count{channel="mail"}': 6,
    'deliveries_send_duration_seconds_bucket{le="+Inf",channel="mail"}': 6,
  });
  await until('post is counted', async () => (await samplesOf(registry))[attempts('succeeded', 'post')] === 1);
});

it('times sends, and how late they began, in cumulated buckets', async () => {
  await start();
  mail.on('slow', async () => {
    await sleep(60);
    return succeeded();
  });
  await app.recorder.transaction(async (tx) => {
    const { id } = await app.recorder.enqueue(tx, mail.type, { destination: 'test', payload: { script: 'slow' } });
    await tx.query(`UPDATE deliveries.deliveries SET due_at = due_at - interval '20 s' WHERE id = $1`, [id]);
  });
  await until('it is sent', async () => (await samplesOf(registry))[attempts('succeeded')] === 1);
  const samples = await samplesOf(registry);
  expect(samples).toMatchObject({
    'deliveries_send_duration_seconds_bucket{le="0.05",channel="mail"}': 0,
    'deliveries_send_duration_seconds_bucket{le="30",channel="mail"}': 1,
    'deliveries_send_duration_seconds_bucket{le="3600",channel="mail"}': 1,
    'deliveries_time_to_send_seconds_bucket{le="10",channel="mail"}': 0,
    'deliveries_time_to_send_seconds_bucket{le="60",channel="mail"}': 1,
  });
  expect(samples['deliveries_send_duration_seconds_sum{channel="mail"}']).toBeGreaterThan(0.05);
  expect(samples['deliveries_time_to_send_seconds_sum{channel="mail"}']).toBeGreaterThan(20);
});

it('counts what is pending in the whole queue, and how long the oldest has been', async () => {
  await start({ workers: 0 });
  expect(await counted()).toMatchObject({ [pending]: 0, [oldest]: 0, 'deliveries_pending{channel="post"}': 0 });
  const ids = await enqueue(app, mail, [{ n: 1 }, { n: 2 }]);
  const [keyed] = await enqueue(app, mail, [{ n: 3 }, { n: 4 }], { orderingKey: 'key' });
  await enqueue(app, mail, [{ n: 5 }], { notBefore: new Date(Date.now() + 3_600_000) });
  await enqueue(app, post, [{ n: 6 }]);
  const first = await counted();
  expect(first).toMatchObject({ [pending]: 5, 'deliveries_pending{channel="post"}': 1 });
  expect(first[oldest]).toBeLessThan(5);

  const set = (id: string | undefined, assignment: string): Promise<unknown> =>
    database.query(`UPDATE deliveries.deliveries SET ${assignment} WHERE id = $1`, [id]);
  // Recorded a while ago, and not attempted.
  await set(ids[0], `created_at = now() - interval '100 s', due_at = now() - interval '100 s'`);
  expect((await counted())[oldest]).toBeCloseTo(100, -1);
  // One that backs off is older, although it is due last.
  await set(ids[1], `created_at = now() - interval '200 s', due_at = now() + interval '1 h', attempts = 3`);
  expect((await counted())[oldest]).toBeCloseTo(200, -1);
  // Ordered ones have an index of their own.
  await set(keyed, `created_at = now() - interval '300 s'`);
  expect((await counted())[oldest]).toBeCloseTo(300, -1);
  // One that is being attempted.
  await set(
    ids[0],
    `created_at = now() - interval '400 s', attempts = 1, claim_token = gen_random_uuid(), due_at = now() + interval '1 min', lease_expires_at = now() + interval '1 min'`,
  );
  expect(await counted()).toMatchObject({ [pending]: 5, [oldest]: expect.closeTo(400, -1) as number });
  // An operator's retry starts it anew.
  await set(ids[0], 'retried_at = now()');
  expect((await counted())[oldest]).toBeCloseTo(300, -1);
  // What ended is not pending.
  await database.query(
    `UPDATE deliveries.deliveries SET status = 'failed', claim_token = NULL, lease_expires_at = NULL, settled_at = now() WHERE channel = 'mail'`,
  );
  expect(await counted()).toMatchObject({ [pending]: 0, [oldest]: 0 });
});

const gaugesOfPost = ['deliveries_pending{channel="post"}', 'deliveries_oldest_pending_age_seconds{channel="post"}'];
const age = 'deliveries_oldest_transaction_age_seconds';
const gauges = (samples: Samples): string[] => Object.keys(samples).filter((name) => /_pending|transaction/.test(name));

it('leaves out the gauges of a channel whose count failed, and has them again', async () => {
  await start({ workers: 0 });
  await enqueue(app, mail, [{}, {}]);
  expect(await counted()).toMatchObject({ [pending]: 2, 'deliveries_pending{channel="post"}': 0 });

  const observer = app.module.get(ObserverDatabase);
  const read = observer.read.bind(observer);
  const refusing = jest
    .spyOn(observer, 'read')
    .mockImplementation((text, values, limit) =>
      values[0] === 'mail'
        ? Promise.reject(Object.assign(new Error('too long'), { code: '57014' }))
        : read<never>(text, values, limit),
    );
  expect(gauges(await counted())).toEqual(gaugesOfPost);
  refusing.mockRestore();
  expect(await counted()).toMatchObject({ [pending]: 2 });

  await database.query('ALTER TABLE deliveries.deliveries RENAME TO away');
  const without = await counted();
  await database.query('ALTER TABLE deliveries.away RENAME TO deliveries');
  expect(gauges(without)).toEqual([]);
  // What this process knows by itself is still there.
  expect(without).toMatchObject({ [attempts('succeeded')]: 0 });
  expect(await counted()).toMatchObject({ [pending]: 2, 'deliveries_pending{channel="post"}': 0 });
});

it('shows the transaction that keeps vacuum from its work', async () => {
  await start({ workers: 0 });
  const { passed, open } = gate();
  const held = gate();
  const holding = app.dataSource.transaction('REPEATABLE READ', async (tx) => {
    await tx.query('SELECT count(*) FROM deliveries.deliveries');
    held.open();
    await passed;
  });
  await held.passed;
  const before = (await counted())[age]!;
  expect(before).toBeGreaterThan(0);
  open();
  await holding;
  expect((await counted())[age]).toBeLessThan(before);
});

it('shows what is paused', async () => {
  await start({ workers: 0 });
  await database.query(
    `INSERT INTO deliveries.delivery_pauses (channel, lane, reason, since, until)
     VALUES ('mail', '', 'operator', now(), NULL), ('mail', '', 'login_rejected', now(), NULL),
            ('post', 'a', 'retry_after', now(), now() + interval '1 h'), ('post', 'a', 'operator', now(), NULL),
            ('post', 'b', 'retry_after', now(), now() - interval '1 s')`,
  );
  expect(await counted()).toMatchObject({
    'deliveries_paused{channel="mail"}': 1,
    'deliveries_paused_lanes{channel="mail"}': 0,
    'deliveries_paused{channel="post"}': 0,
    'deliveries_paused_lanes{channel="post"}': 1,
  });
  await database.query('DELETE FROM deliveries.delivery_pauses');
  expect(await counted()).toMatchObject({ 'deliveries_paused{channel="mail"}': 0 });
});

it('shows what clean-up did, and when', async () => {
  await start({ workers: 0 });
  const before = await samplesOf(registry);
  expect(before).toMatchObject({ 'deliveries_cleaned_total{kind="failed"}': 0 });
  expect(before).not.toHaveProperty(['deliveries_clean_up_timestamp_seconds']);
  await enqueue(app, mail, [{}, {}]);
  await database.query(`UPDATE deliveries.deliveries SET status = 'failed', settled_at = now() - interval '31 d'`);
  await app.cleaner.runOnce();
  const after = await samplesOf(registry);
  expect(after).toMatchObject({
    'deliveries_cleaned_total{kind="failed"}': 2,
    'deliveries_cleaned_total{kind="succeeded"}': 0,
  });
  expect(after['deliveries_clean_up_timestamp_seconds']).toBeCloseTo(Date.now() / 1_000, -1);
});

it('reads what it counts from indexes alone', async () => {
  await start({ workers: 0 });
  await fillPending(database, 20_000);
  const plan = await planOfCount(app, 'mail');
  expect(plan.indexes).toEqual(countedIndexes);
  expect(plan.types).not.toContain('Seq Scan');
  // 15,000 rows are counted; a visit to each would be as many buffers.
  expect(plan.buffers).toBeLessThan(400);
  expect(await counted()).toMatchObject({ [pending]: 15_000 });
});

it('exports what the dashboard, the alert rules and the guide speak of, and they leave nothing out', async () => {
  await start({ workers: 0 });
  await app.cleaner.runOnce();
  await counted();
  const exported = (await registry.getMetricsAsJSON()).map(({ name }) => name).toSorted();
  expect(exported.length).toBeGreaterThan(10);
  const text = (file: string): string => readFileSync(join(__dirname, '../../docs', file), 'utf8');
  const named = (file: string): string[] => {
    // Alerts and labels are written otherwise: what begins like this is a metric.
    const names = text(file).matchAll(/\bdeliveries_[a-z_]+/g);
    return [...new Set([...names].map(([name]) => name.replace(/_(bucket|sum|count)$/, '')))].toSorted();
  };
  expect(named('observability/grafana-dashboard.json')).toEqual(exported);
  expect(named('observe.md')).toEqual(exported);
  const alerted = named('observability/alert-rules.yml');
  expect(alerted.filter((name) => !exported.includes(name))).toEqual([]);

  // Values of labels, too, are those that are exported.
  const samples = Object.keys(await samplesOf(registry)).join('\n');
  const exact =
    text('observability/alert-rules.yml') + text('observability/grafana-dashboard.json').replaceAll('\\"', '"');
  const asked = [...exact.matchAll(/\b(outcome|state|kind)=~?"([a-z_|]+)"/g)];
  expect(asked.length).toBeGreaterThan(5);
  for (const [, label, values] of asked)
    for (const value of values!.split('|')) expect(samples).toContain(`${label}="${value}"`);

  // Each alert of the rules is in the table of their README.
  const alerts = [...text('observability/alert-rules.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const described = [...text('observability/README.md').matchAll(/^\| `(Deliveries\w+)`/gm)].map(([, name]) => name);
  expect(described).toEqual(alerts);

  const { panels } = JSON.parse(text('observability/grafana-dashboard.json')) as {
    panels: { id: number; type: string; targets?: object[] }[];
  };
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(panels.filter(({ type, targets }) => type !== 'row' && !targets?.length)).toEqual([]);
});
