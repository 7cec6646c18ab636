import type { INestApplication, Type } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveriesModule, DeliveryOperations, DeliveryRecorder, type DeliveriesOptions } from 'nest-deliveries';
import {
  WebhookKeyring,
  WebhookOutboxes,
  WebhookSigningKey,
  WebhooksModule,
  WebhookStorageKey,
  type WebhooksOptions,
} from 'nest-deliveries/webhooks';
import { randomBytes } from 'node:crypto';
import { DataSource } from 'typeorm';
import { testPace } from '../../support/deliveries-app';

/** A Nest application with webhooks. */
export interface WebhooksApp {
  readonly module: INestApplication;
  readonly outboxes: WebhookOutboxes;
  readonly operations: DeliveryOperations;
  readonly recorder: DeliveryRecorder;
  readonly dataSource: DataSource;
  close(): Promise<void>;
}

export async function startWebhooksApp(
  url: string,
  webhooks: WebhooksOptions,
  deliveries: DeliveriesOptions = {},
  channels: Type[] = [],
): Promise<WebhooksApp> {
  const compiled = await Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url, poolSize: 30, retryAttempts: 0 }),
      ScheduleModule.forRoot(),
      DeliveriesModule.forRoot({ ...testPace, logAttempts: 'none', ...deliveries }),
      WebhooksModule.forRoot(webhooks),
    ],
    providers: channels,
  }).compile();
  const module = compiled.createNestApplication({ rawBody: true });
  await module.init();
  return {
    module,
    outboxes: module.get(WebhookOutboxes),
    operations: module.get(DeliveryOperations),
    recorder: module.get(DeliveryRecorder),
    dataSource: module.get(DataSource),
    close: () => module.close(),
  };
}

export const newSigningKey = (id = 'key-1'): WebhookSigningKey =>
  new WebhookSigningKey(id, randomBytes(32).toString('base64url'));

export const newStorageKey = (id = 'storage-1'): WebhookStorageKey => new WebhookStorageKey(id, randomBytes(32));

export const newKeyring = (): WebhookKeyring => new WebhookKeyring(newStorageKey());
