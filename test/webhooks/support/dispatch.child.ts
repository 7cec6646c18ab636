import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveriesModule } from 'nest-deliveries';
import {
  WebhookConfig,
  WebhookDestination,
  WebhookKeyring,
  WebhookOutboxes,
  WebhookSigningKey,
  WebhooksModule,
  WebhookStorageKey,
} from 'nest-deliveries/webhooks';

/** What the parent hands over. */
export interface Task {
  readonly url: string;
  readonly namespace: string;
  readonly destination: string;
  readonly signingKey: string;
  /** In base64. */
  readonly storageKey: string;
}

/** Opens a namespace in a process of its own, dispatches by hand until nothing is due, and says what it saw. */
async function main(task: Task): Promise<void> {
  @Module({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: task.url, retryAttempts: 0 }),
      ScheduleModule.forRoot(),
      DeliveriesModule.forRoot({ migrate: false, run: [], metrics: false }),
      WebhooksModule.forRoot({
        keyring: new WebhookKeyring(new WebhookStorageKey('storage-1', Buffer.from(task.storageKey, 'base64'))),
      }),
    ],
  })
  class ChildModule {}

  const app = await NestFactory.createApplicationContext(ChildModule, { logger: false });
  const outbox = await app.get(WebhookOutboxes).open(
    new WebhookConfig({
      namespace: task.namespace,
      destination: WebhookDestination.loopbackTest(task.destination),
      quota: 10,
    }),
    new WebhookSigningKey('key-1', task.signingKey),
    { workers: 0 },
  );
  const dispatched: unknown[] = [];
  for (;;) {
    const next = await outbox.dispatchNext(`process-${process.pid}`);
    dispatched.push(next);
    if (next.type === 'idle') break;
  }
  await app.close();
  process.stdout.write(JSON.stringify(dispatched));
}

void main(JSON.parse(process.env['TASK']!) as Task);
