import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { until } from '../faults/support/facts';
import { type Receiver, startReceiver } from '../faults/support/receiver';
import { recordFor, type Replica, type ReplicaOrder, startReplica } from '../faults/support/replica';
import { attemptsOf, expireLease, rowOf } from '../faults/support/rows';
import { scriptedChannel } from '../faults/support/scripted-channel';
import { startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { spawnTs } from '../support/ts-child';

// BL-101: connections are closed before the last outcome is stored. `app.close()`, and the order in which modules are imported, are
// in test/deliveries/shutdown.spec.ts.

// Each starts a process, which is a second of computing.
jest.setTimeout(180_000);

let database: TestDatabase;
let receiver: Receiver;
let held: ServerResponse[];
const replicas: Replica[] = [];

beforeEach(async () => {
  [database, receiver] = await Promise.all([createTestDatabase(), startReceiver()]);
  held = [];
  receiver.answer = (_, response) => void held.push(response);
});

afterEach(async () => {
  for (const { child } of replicas) child.kill('SIGKILL');
  await Promise.all(replicas.splice(0).map(({ ended }) => ended));
  await receiver.close();
  await database.drop();
});

function start(more: Partial<ReplicaOrder> = {}): Replica {
  const options = { migrate: false, pollInterval: 100, sendTimeout: '5m', lease: '10m', shutdownGrace: '15s' } as const;
  const replica = startReplica({ url: database.url, receiver: receiver.url, options, ...more });
  replicas.push(replica);
  return replica;
}

/** One delivery is with the receiver, which has not answered. */
async function inFlight(): Promise<string> {
  const [id] = await recordFor(database, [{}]);
  await until('it is in flight', () => held.length === 1, 30_000);
  return id!;
}

/** Somebody else takes over what a process that is gone had in flight, when its lease ends and not before. */
async function isTakenOver(id: string): Promise<void> {
  expect(await rowOf(database, id)).toMatchObject({ status: 'pending', attempts: 1, crashes: 0, last_error: null });
  const channel = scriptedChannel({ name: 'http', maxAge: '1d' });
  const app = await startDeliveriesApp(database.url, [channel.type]);
  const [probe] = await recordFor(database, [{}]);
  try {
    await until('it works', async () => (await rowOf(database, probe!)).status === 'succeeded');
    expect(channel.calls.map((call) => call.id)).toEqual([probe]);
    await expireLease(database, id);
    await until('it has arrived', async () => (await rowOf(database, id)).status === 'succeeded');
  } finally {
    await app.close();
  }
  expect(channel.calls.map((call) => call.id)).toEqual([probe, id]);
  expect(await rowOf(database, id)).toMatchObject({ attempts: 2, crashes: 1 });
  expect(await attemptsOf(database, id)).toEqual([{ number: 1, outcome: 'crashed', error: 'crashed' }]);
}

it('BL-101: stores the outcome that comes after SIGTERM, a second SIGTERM or not, and exits with 0', async () => {
  const one = start();
  const id = await inFlight();
  one.kill('SIGTERM');
  one.kill('SIGTERM');
  held[0]!.end();
  expect(await one.ended).toBe(0);
  expect(await rowOf(database, id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(receiver.arrivals).toHaveLength(1);
  expect(one.lines().filter((text) => /WARN|ERROR|pool|not established/i.test(text))).toEqual([]);
});

it('BL-101: without the shutdown hooks a signal is a crash, and nothing is lost', async () => {
  const one = start({ noHooks: true });
  const id = await inFlight();
  one.kill('SIGTERM');
  expect(await one.ended).toBe('SIGTERM');
  await isTakenOver(id);
});

it('BL-101: a second Ctrl-C ends an application that waits for a send, with 1, and nothing is lost', async () => {
  const child = spawnTs(join(__dirname, 'bl-101.child.ts'), {
    args: [database.url, receiver.url],
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  try {
    const id = await inFlight();
    // Two that come within 300 ms are one.
    const signals = setInterval(() => child.kill('SIGINT'), 50);
    expect(await ended.finally(() => clearInterval(signals))).toEqual([1, null]);
    await isTakenOver(id);
  } finally {
    child.kill('SIGKILL');
  }
});
