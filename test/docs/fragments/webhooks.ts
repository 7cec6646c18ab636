import { Controller, Injectable, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { DeliveryEvent } from 'nest-deliveries';
import {
  Received,
  StandardSecret,
  VerifyWebhook,
  WebhookReceipts,
  type ReceivedMessage,
  type WebhookEndpoints,
  type WebhookOutbox,
} from 'nest-deliveries/webhooks';
import {
  WebhookConfig,
  WebhookDestination,
  WebhookKeyring,
  WebhookOutboxes,
  WebhookSigningKey,
  WebhooksModule,
  WebhookStorageKey,
} from 'nest-deliveries/webhooks';
import { DataSource, type EntityManager } from 'typeorm';
import { AppModule } from '../readme/app.module';

@Injectable()
export class Secrets {
  readonly storageKey = new Uint8Array(32);
  readonly signingKey = '';
}

interface OrderPaid {
  readonly tenant: string;
}

declare const keyring: WebhookKeyring;
declare const bytesOf: (event: DeliveryEvent) => Uint8Array;

export function openOutbox(): void {
  WebhooksModule.forRootAsync({
    inject: [Secrets],
    useFactory: (secrets: Secrets) => ({
      keyring: new WebhookKeyring(new WebhookStorageKey('storage-2026-09', secrets.storageKey)),
      outboxes: [
        {
          config: new WebhookConfig({
            namespace: 'school',
            destination: WebhookDestination.approvedHttps('https://receiver.example/events'),
            quota: 10_000,
          }).requireProduction(),
          signingKey: new WebhookSigningKey('receiver-key-2026-09', secrets.signingKey),
        },
      ],
    }),
  });
}

export async function complete(
  dataSource: DataSource,
  outboxes: WebhookOutboxes,
  completion: { readonly id: string },
  bytes: Uint8Array,
): Promise<void> {
  await dataSource.transaction(async (tx) => {
    await tx.save(completion);
    await outboxes.get('school').enqueue(tx, `completion/${completion.id}/v1`, 'course.completed', bytes);
  });
}

export async function byHand(outbox: WebhookOutbox): Promise<void> {
  for (;;) {
    const { type } = await outbox.dispatchNext('worker-1'); // idle, accepted, retryScheduled, failed
    if (type === 'idle') break;
  }
}

export function sendToEndpoints(): void {
  WebhooksModule.forRoot({
    keyring,
    endpoints: {
      messages: (event) =>
        event.type === 'order_paid'
          ? [{ tenant: (event.payload as OrderPaid).tenant, kind: 'order.paid', body: bytesOf(event) }]
          : [],
    },
  });
}

export async function register(endpoints: WebhookEndpoints, url: string): Promise<unknown> {
  const { endpoint, secrets } = await endpoints.register({ tenant: 'acme', url, kinds: ['order.paid'] });
  return [endpoint.id, secrets];
}

export async function receive(): Promise<unknown> {
  const app = await NestFactory.create(AppModule, { rawBody: true });
  WebhooksModule.forRoot({
    receive: { partner: { standard: [new StandardSecret(process.env.PARTNER_SECRET!)] } },
  });
  return app;
}

@Controller()
export class HooksController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly receipts: WebhookReceipts,
  ) {}

  @Post('hooks/partner')
  @VerifyWebhook('partner')
  take(@Received() message: ReceivedMessage) {
    return this.dataSource.transaction(async (tx) => {
      if (!(await this.receipts.isFirst(tx, message))) return;
      await this.handle(tx, message);
    });
  }

  private async handle(tx: EntityManager, message: ReceivedMessage): Promise<void> {
    await tx.query('SELECT $1::text', [message.id]);
  }
}
