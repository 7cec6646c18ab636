import { Global, Module } from '@nestjs/common';
import { SchedulerRegistry, ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveriesModule, DeliveriesOptionsError, QueueCounter } from 'nest-deliveries';
import { collectDefaultMetrics, Gauge, register, Registry } from 'prom-client';
import { Letters, letter, until } from '../deliveries/letters';
import { samplesOf, type Samples } from '../observe/support/samples';
import { startDeliveriesApp, testPace, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { runTs } from '../support/ts-child';

// BL-091: an application does not start because its metrics are registered already, by another one or by itself before.

let database: TestDatabase;
let other: TestDatabase;
const apps: DeliveriesApp[] = [];

beforeAll(async () => {
  [database, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
});
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
  register.clear();
  await Promise.all([database, other].map((each) => each.query('DELETE FROM deliveries.deliveries')));
});
afterAll(() => Promise.all([database.drop(), other.drop()]));

type Metrics = { registry?: Registry; prefix?: string } | false | undefined;

async function start(metrics: Metrics, { url } = database): Promise<DeliveriesApp> {
  const app = await startDeliveriesApp(url, [Letters], { metrics });
  apps.push(app);
  return app;
}

async function close(app: DeliveriesApp): Promise<void> {
  apps.splice(apps.indexOf(app), 1);
  await app.close();
}

async function send(app: DeliveriesApp, count: number): Promise<void> {
  const before = app.tally.of('letters').succeeded;
  const drafts = Array.from({ length: count }, (_, index) => letter(`letter ${index}`));
  await app.recorder.transaction((tx) => app.recorder.enqueue(tx, Letters, drafts));
  await until('all are counted', () => app.tally.of('letters').succeeded === before + count);
}

const succeeded = (samples: Samples, prefix = ''): number | undefined =>
  samples[`${prefix}deliveries_attempts_total{channel="letters",outcome="succeeded"}`];
const ours = (registry: Registry): string[] =>
  registry.getMetricsAsArray().flatMap(({ name }) => (name.includes('deliveries_') ? name : []));
const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

it('BL-091: opens and closes five times on the default registry, counts anew each time, and leaves nothing', async () => {
  const before = timers();
  for (let round = 1; round <= 5; round += 1) {
    const app = await start(undefined);
    await send(app, round);
    expect(succeeded(await samplesOf(register))).toBe(round);
    await close(app);
    expect(ours(register)).toEqual([]);
    await until('every timer is gone', () => timers() <= before);
  }
  const connections = await database.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'nest-deliveries%'`,
  );
  expect(connections).toEqual([]);
});

it('BL-091: two at once share the default registry: counts add up, and stay as long as one of them', async () => {
  const first = await start(undefined);
  const second = await start(undefined, other);
  await send(first, 2);
  await send(second, 3);
  expect(succeeded(await samplesOf(register))).toBe(5);
  await close(first);
  expect(succeeded(await samplesOf(register))).toBe(3);
  await close(second);
  expect(ours(register)).toEqual([]);
});

it('BL-091: two at once with registries of their own hear nothing of each other', async () => {
  const [one, two] = [new Registry(), new Registry()];
  const first = await start({ registry: one });
  const second = await start({ registry: two, prefix: 'shop_' }, other);
  await send(first, 2);
  await second.recorder.transaction((tx) =>
    second.recorder.enqueue(tx, Letters, { ...letter('later'), notBefore: new Date(Date.now() + 60_000) }),
  );
  await Promise.all([first, second].map(({ module }) => module.get(QueueCounter).runOnce()));
  await second.module.get(QueueCounter).runOnce();
  expect(succeeded(await samplesOf(one))).toBe(2);
  expect(await samplesOf(one)).toMatchObject({ 'deliveries_pending{channel="letters"}': 0 });
  expect(await samplesOf(two)).toMatchObject({ 'shop_deliveries_pending{channel="letters"}': 1 });
  expect(succeeded(await samplesOf(two), 'shop_')).toBe(0);
  expect(ours(two).filter((name) => !name.startsWith('shop_'))).toEqual([]);
  expect(ours(register)).toEqual([]);
  await close(first);
  expect(ours(one)).toEqual([]);
  expect(ours(two)).not.toEqual([]);
});

it('BL-091: one module, imported by two feature modules, counts once', async () => {
  const registry = new Registry();
  const deliveries = DeliveriesModule.forRoot({ ...testPace, metrics: { registry } });
  const feature = (): unknown => {
    @Global()
    @Module({ imports: [deliveries] })
    class Feature {}
    return Feature;
  };
  const module = await Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: database.url, retryAttempts: 0 }),
      ScheduleModule.forRoot(),
      feature() as never,
      feature() as never,
    ],
    providers: [Letters],
  }).compile();
  await module.init();
  expect(succeeded(await samplesOf(registry))).toBe(0);
  await module.close();
  expect(ours(registry)).toEqual([]);
});

it('BL-091: metrics of the host stay as they are, beside ours and after them', async () => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'shop_' });
  const hosts = registry.getMetricsAsArray().length;
  const app = await start({ registry, prefix: 'shop_' });
  expect(await samplesOf(registry)).toHaveProperty(['shop_process_cpu_seconds_total']);
  expect(succeeded(await samplesOf(registry), 'shop_')).toBe(0);
  // What a host may do with its registry between two tests.
  registry.resetMetrics();
  await close(app);
  expect(registry.getMetricsAsArray()).toHaveLength(hosts);
});

it('BL-091: a metric of the host under a name of ours stops the start, with a way out, and is left alone', async () => {
  const registry = new Registry();
  const theirs = new Gauge({ name: 'deliveries_in_flight', help: 'parcels on vans', registers: [registry] });
  await expect(start({ registry })).rejects.toThrow(
    new DeliveriesOptionsError(
      'DeliveriesModule: metrics.registry has a metric named "deliveries_in_flight" already, and it is not one of this module\'s. Set metrics.prefix, or rename the other one.',
    ),
  );
  expect(registry.getMetricsAsArray()).toEqual([theirs]);
  const app = await start({ registry, prefix: 'out_' });
  expect(succeeded(await samplesOf(registry), 'out_')).toBe(0);
  await close(app);
  expect(registry.getMetricsAsArray()).toEqual([theirs]);
});

it('BL-091: switched off, there are no metrics and nothing counts in the background', async () => {
  const app = await start(false);
  await send(app, 1);
  expect(ours(register)).toEqual([]);
  const intervals = app.module.get(SchedulerRegistry, { strict: false }).getIntervals();
  expect(intervals.filter((name) => name.includes('count'))).toEqual([]);
  expect(intervals).not.toEqual([]);
});

it('BL-091: where prom-client is not installed, everything else works, and asking for metrics says what to do', async () => {
  const { code, stdout, stderr } = await runTs('test/field/bl-091.child.ts', { args: [database.url] });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(JSON.parse(stdout.slice(stdout.indexOf('{"')))).toEqual({
    readiness: 'up',
    refused:
      'DeliveriesOptionsError: DeliveriesModule: metrics needs prom-client, which is not installed. Run "npm install prom-client", or set metrics: false.',
  });
});
