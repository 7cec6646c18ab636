import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { until } from '../faults/support/facts';
import { attemptsOf, countByStatus, expireLease, rowOf } from '../faults/support/rows';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { spawnTs } from '../support/ts-child';
import { HttpParcels } from './support/http-channel';
import { draft, parcels } from './support/parcels';

interface Post {
  readonly id: string;
  readonly n: number;
  readonly key: string;
  readonly attempt: number;
  readonly pid: number;
  readonly answer: () => void;
}

let database: TestDatabase;
let server: Server;
let app: DeliveriesApp | undefined;
let child: ReturnType<typeof spawnTs> | undefined;
const posts: Post[] = [];
let holds = (_post: Post): boolean => false;

beforeAll(async () => {
  database = await createTestDatabase();
  server = createServer((request, response: ServerResponse) => {
    void (async () => {
      const body = await text(request);
      const post: Post = {
        ...(JSON.parse(body) as Omit<Post, 'id' | 'answer'>),
        id: String(request.headers['idempotency-key']),
        answer: () => response.end(),
      };
      posts.push(post);
      if (!holds(post)) post.answer();
    })();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  process.env.RECEIVER_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});

afterAll(async () => {
  child?.kill('SIGKILL');
  await app?.close();
  server.closeAllConnections();
  server.close();
  await database.drop();
});

it('a key whose worker was killed in the middle of a chain goes on after the lease, in order, and other keys at once', async () => {
  // The killed replica works alone: it has sent 1 and 2, and hangs with 3, which a settle had claimed for it.
  holds = ({ key, n, attempt }) => key === 'a' && n === 3 && attempt === 1;
  child = spawnTs('test/order/support/replica.ts', {
    env: { REPLICA_DATABASE_URL: database.url },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const { pid } = child;
  const isUp = once(child, 'message');
  app = await startDeliveriesApp(database.url, [HttpParcels], { run: [] });
  await isUp;
  const { recorder } = app;
  const ids = (
    await recorder.transaction((tx) =>
      recorder.enqueue(
        tx,
        HttpParcels,
        parcels(5).map((parcel) => draft('a', parcel)),
      ),
    )
  ).map(({ id }) => id);
  const of = (key: string): number[] => posts.filter((post) => post.key === key).map(({ n }) => n);
  await until('the third is in flight', () => of('a').length === 3, 20_000);
  expect(of('a')).toEqual([1, 2, 3]);

  child.kill('SIGKILL');
  await once(child, 'exit');
  await app.close();
  app = await startDeliveriesApp(database.url, [HttpParcels]);
  await app.recorder.transaction((tx) =>
    app!.recorder.enqueue(
      tx,
      HttpParcels,
      parcels(3).map((parcel) => draft('b', parcel)),
    ),
  );
  await until('the other key has arrived', () => of('b').length === 3);
  expect(of('a')).toEqual([1, 2, 3]);
  expect(await rowOf(database, ids[2]!)).toMatchObject({ status: 'pending', attempts: 1, crashes: 0 });

  await expireLease(database, ids[2]!);
  await until('all are sent', async () => (await countByStatus(database))['succeeded'] === 8);
  expect(of('a')).toEqual([1, 2, 3, 3, 4, 5]);
  expect(posts.filter(({ id }) => id === ids[2]).map(({ attempt, pid: by }) => [attempt, by])).toEqual([
    [1, pid],
    [2, process.pid],
  ]);
  expect(await rowOf(database, ids[2]!)).toMatchObject({ attempts: 2, crashes: 1 });
  expect(await attemptsOf(database, ...ids)).toEqual([{ number: 1, outcome: 'crashed', error: 'crashed' }]);
}, 40_000);
