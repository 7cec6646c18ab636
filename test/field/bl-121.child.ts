// The application of BL-121: comes up however often it must try, records and sends on the host's and the workers' connections, and
// ends in order. An unhandled rejection or an error that nobody listens to ends it.
import 'reflect-metadata';
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
  type ChannelHandler,
  type Delivery,
  type Outcome,
} from 'nest-deliveries';
import { testPace } from '../support/deliveries-app';

/** What the test is told. */
export type Told = { readonly failedStart: string } | 'up' | { readonly recorded: string };

const [url, receiver] = process.argv.slice(2) as [string, string];
const tell = (told: Told): void => void process.send!(told);

@DeliveryChannel({ name: 'http', maxAge: '1d', sendTimeout: '20s', lease: '60s' })
class Http implements ChannelHandler {
  deliveries(): [] {
    return [];
  }
  async send({ id }: Delivery): Promise<Outcome> {
    const { status } = await fetch(receiver, { method: 'POST', headers: { 'x-id': id } });
    return status === 200 ? succeeded() : retry(status);
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url, retryAttempts: 0 }),
    ScheduleModule.forRoot(),
    DeliveriesModule.forRoot({ ...testPace, shutdownGrace: '20s' }),
  ],
  providers: [Http],
})
class Application {}

/** A host tries again when a transaction failed. */
async function record(recorder: DeliveryRecorder): Promise<void> {
  try {
    const draft = { destination: 'test', payload: {} };
    const { id } = await recorder.transaction((tx) => recorder.enqueue(tx, Http, draft));
    tell({ recorded: id });
  } catch {
    await record(recorder);
  }
}

async function main(): Promise<void> {
  for (;;) {
    try {
      const app = await NestFactory.createApplicationContext(Application, {
        logger: ['warn', 'error', 'fatal'],
        abortOnError: false,
      });
      app.enableShutdownHooks(undefined, { useProcessExit: true });
      process.on('message', () => void record(app.get(DeliveryRecorder)));
      tell('up');
      return;
    } catch (error) {
      tell({ failedStart: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
    }
  }
}

void main();
