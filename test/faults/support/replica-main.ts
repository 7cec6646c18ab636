// One replica of an application that delivers: started by replica.ts, in a process of its own.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Attempt,
  AttemptTally,
  type ChannelHandler,
  DeliveriesModule,
  DeliveryRecorder,
  type Delivery,
  DeliveryChannel,
  type DeliveryDraft,
  DeliveryWorkers,
  type Outcome,
  retry,
  succeeded,
} from 'nest-deliveries';
import { DataSource } from 'typeorm';
import type { ReplicaOrder, ReplicaPayload } from './replica';

const order = JSON.parse(process.argv[2]!) as ReplicaOrder;

/** Posts to the receiver in the test's process; what it is told to do besides stands in the payload. */
@DeliveryChannel({ name: 'http', maxAge: '1d' })
class HttpChannel implements ChannelHandler<ReplicaPayload> {
  deliveries(): DeliveryDraft<ReplicaPayload>[] {
    return [];
  }

  async send({ id, payload }: Delivery<ReplicaPayload>, attempt: Attempt): Promise<Outcome> {
    const headers = { 'x-id': id, 'x-attempt': String(attempt.number), 'x-pid': String(process.pid) };
    // At once, before anything else that was claimed with it has had a moment.
    if (payload.boom === 'at once') process.exit(1);
    if (payload.boom) {
      // The receiver has it, and then the process is gone: nothing is settled, and what is beside it in flight goes as well.
      await fetch(order.receiver, { method: 'POST', headers });
      process.exit(1);
    }
    if (payload.deaf) {
      await (await fetch(order.receiver, { method: 'POST', headers })).arrayBuffer();
      return await new Promise<never>(() => {});
    }
    const { status, body } = await fetch(order.receiver, { method: 'POST', headers, signal: attempt.signal });
    await body?.cancel();
    return status === 200 ? succeeded() : retry(status);
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: order.hostUrl ?? order.url, retryAttempts: 0 }),
    ScheduleModule.forRoot(),
    DeliveriesModule.forRoot({ ...order.options, connection: { connectionString: order.url } }),
  ],
  providers: [HttpChannel],
})
class Replica {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(Replica, { logger: ['log', 'warn', 'error', 'fatal'] });
  // By itself Nest ends the process by the signal, whose exit code is not 0.
  if (!order.noHooks) app.enableShutdownHooks(undefined, { useProcessExit: true });
  const workers = app.get(DeliveryWorkers);
  const stop = workers.beforeApplicationShutdown.bind(workers);
  workers.beforeApplicationShutdown = () => {
    const stopped = stop();
    process.send?.('stopping');
    return stopped;
  };
  process.on('message', (message) => {
    if (message === 'tally') process.send!({ tally: app.get(AttemptTally).of('http') });
    // Afterwards nothing may hold the process, the channel to its parent apart.
    if (message === 'close') void app.close().then(() => process.disconnect());
    if (message === 'record') void hostWork.record(app.get(DeliveryRecorder));
    if (message === 'rest') hostWork.resting = true;
  });
  if (order.hostConnections) await useHostPool(app.get(DataSource), order.hostConnections);
  process.send!('ready');
}

/** Opens so many connections of the host's own pool, and leaves them idle in it. */
async function useHostPool(dataSource: DataSource, count: number): Promise<void> {
  const runners = Array.from({ length: count }, () => dataSource.createQueryRunner());
  await Promise.all(runners.map((runner) => runner.query('SELECT')));
  await Promise.all(runners.map((runner) => runner.release()));
}

/** Transactions of the host, four at a time, until it is told to rest: the parent hears of each whether it was committed. */
const hostWork = {
  resting: false,
  async record(recorder: DeliveryRecorder): Promise<void> {
    await Promise.all(Array.from({ length: 4 }, () => this.recordInTurn(recorder)));
    process.send!({ committed: 'rested' });
  },
  async recordInTurn(recorder: DeliveryRecorder): Promise<void> {
    while (!this.resting) {
      const recorded = await recorder
        .transaction(async (tx) => {
          const { id } = await recorder.enqueue(tx, HttpChannel, { destination: 'test', payload: {} });
          await tx.query('SELECT pg_sleep(0.02)');
          return id;
        })
        .catch(() => delay(20));
      process.send!({ committed: recorded });
    }
  },
};

void main();
