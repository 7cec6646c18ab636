import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  DeliveriesModule,
  DeliveryChannel,
  DeliveryRecorder,
  retry,
  succeeded,
  type Attempt,
  type Delivery,
  type DeliveryDraft,
} from 'nest-deliveries';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Spell } from './spell';

// A replica under steady load: soak-main <url> <transactions a second> <seconds of a spell>. Sends a Spell at the end of each.
// `rest` ends the recording, `end` the process.

interface Payload {
  n: number;
}

/** Of what was recorded and has not arrived: when only its commit was left. */
const waiting = new Map<number, number>();
let delays: number[] = [];
let handled = 0;

@DeliveryChannel({ name: 'soak', maxAge: '1h', lane: { share: 0.5 }, retry: { first: '1s', max: '5s' } })
class SoakChannel {
  deliveries(): DeliveryDraft<Payload>[] {
    return [];
  }

  async send({ payload: { n } }: Delivery<Payload>, { number }: Attempt) {
    await sleep(2);
    // One in twenty comes a second time; only the first time says something about the queue.
    if (number === 1 && n % 20 === 7) return retry(503);
    const recorded = waiting.get(n);
    waiting.delete(n);
    handled += 1;
    if (recorded !== undefined && number === 1) delays.push(performance.now() - recorded);
    return succeeded();
  }
}

@Module({})
class SoakModule {}

/** A third without a key or a lane, a third ordered, a third in lanes. */
function draft(n: number): DeliveryDraft<Payload> {
  const base = { destination: 'soak', payload: { n } };
  if (n % 3 === 0) return base;
  return n % 3 === 1 ? { ...base, orderingKey: `key ${n % 200}` } : { ...base, lane: `lane ${n % 50}` };
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What is still in use: garbage would say how long ago it was collected. */
function memory(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

async function main(): Promise<void> {
  const [url, rate, seconds] = process.argv.slice(2) as [string, string, string];
  const app = await NestFactory.createApplicationContext(
    {
      module: SoakModule,
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url, poolSize: 4 }),
        ScheduleModule.forRoot(),
        // Kept for so short a time that the table has its size within two minutes.
        DeliveriesModule.forRoot({ retention: { succeeded: '30s' }, cleanUpInterval: '10s' }),
      ],
      providers: [SoakChannel],
    },
    { logger: ['error', 'warn'] },
  );
  const recorder = app.get(DeliveryRecorder);
  const told = (word: string): Promise<unknown> =>
    new Promise((resolve) => process.on('message', (message) => message === word && resolve(word)));
  const end = told('end');
  const recording = new AbortController();
  void Promise.race([told('rest'), end]).then(() => recording.abort());

  let recorded = 0;
  const began = performance.now();
  const record = async (): Promise<void> => {
    while (!recording.signal.aborted) {
      const n = recorded++;
      await sleep(Math.max(0, began + (n * 1_000) / Number(rate) - performance.now()));
      await recorder.transaction(async (tx) => {
        await recorder.enqueue(tx, SoakChannel, draft(n));
        // Before the commit: what was recorded may arrive before the commit's reply does.
        waiting.set(n, performance.now());
      });
    }
  };
  const lanes = Promise.all([record(), record(), record(), record()]);
  const telling = setInterval(() => process.send?.(spell()), Number(seconds) * 1_000);
  await lanes;
  await end;
  clearInterval(telling);
  await app.close();
  process.disconnect();
}

function spell(): Spell {
  const sorted = delays.toSorted((a, b) => a - b);
  const since = handled;
  delays = [];
  handled = 0;
  return {
    handled: since,
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
    heapMiB: memory(),
  };
}

void main();
