import { until } from '../faults/support/facts';
import { type Receiver, startReceiver } from '../faults/support/receiver';
import { recordFor, type Replica, startReplica } from '../faults/support/replica';
import { rowsOf } from '../faults/support/rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

// BL-100: after a deploy, deliveries in flight stay with the process that is gone until their long lease ends.

let database: TestDatabase;
let receiver: Receiver;
const replicas: Replica[] = [];

beforeEach(async () => {
  [database, receiver] = await Promise.all([createTestDatabase(), startReceiver()]);
});

afterEach(async () => {
  for (const { child } of replicas) child.kill('SIGKILL');
  await Promise.all(replicas.splice(0).map(({ ended }) => ended));
  await receiver.close();
  await database.drop();
});

function start(shutdownGrace: number): Replica {
  const options = {
    migrate: false,
    pollInterval: 100,
    sendTimeout: '5m',
    lease: '10m',
    workers: 1,
    concurrency: 5,
    shutdownGrace,
  } as const;
  const replica = startReplica({ url: database.url, receiver: receiver.url, options });
  replicas.push(replica);
  return replica;
}

it('BL-100: hands back at the end of the grace what is in flight, and a new process has it in seconds', async () => {
  // The receiver answers nobody; ten more wait behind the five slots, unclaimed.
  receiver.answer = () => {};
  const old = start(200);
  const ids = await recordFor(
    database,
    Array.from({ length: 15 }, () => ({})),
  );
  await until('five are in flight', () => receiver.arrivals.length === 5, 30_000);
  old.kill('SIGTERM');
  expect(await old.ended).toBe(0);
  const rows = await rowsOf(database, ids);
  expect(rows.map(({ claim_token }) => claim_token)).toEqual(ids.map(() => null));
  expect(rows.filter(({ attempts }) => attempts === 1)).toHaveLength(5);
  expect(rows.filter(({ attempts }) => attempts === 0)).toHaveLength(10);
  expect(rows.filter(({ last_error }) => last_error === 'shutdown')).toHaveLength(5);

  receiver.answer = (_, response) => void response.end();
  start(200);
  await until('all have arrived', async () => (await rowsOf(database, ids)).every((row) => row.status === 'succeeded'));
  expect(receiver.arrivals).toHaveLength(20);
});
