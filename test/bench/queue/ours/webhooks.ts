import type { INestApplicationContext } from '@nestjs/common';
import { DeliveryRecorder, type DeliveriesOptions } from 'nest-deliveries';
import {
  EndpointChannel,
  WebhookEndpoints,
  WebhookKeyring,
  WebhooksModule,
  WebhookStorageKey,
} from 'nest-deliveries/webhooks';
import { DataSource } from 'typeorm';
import { writeBusinessRow } from '../business';
import { monotonic, payload, type Contender } from '../contender';
import { startApplication } from './application';
import { settings } from './settings';
import { startWebhookReceiver } from './webhook-receiver';

const onlyRecords = { workers: 0 };
const kind = 'order.updated';

// A process that records and one that sends are given the same.
const keyring = new WebhookKeyring(new WebhookStorageKey('bench', Buffer.alloc(32, 7)));
const modules = WebhooksModule.forRoot({ keyring, endpoints: {}, http: { testMode: true } });

const start = (url: string, options: DeliveriesOptions, poolSize?: number): Promise<INestApplicationContext> =>
  startApplication(url, options, { channels: [], imports: [modules], ...(poolSize !== undefined && { poolSize }) });

const bodyOf = (seq: number): Buffer => Buffer.from(JSON.stringify(payload(seq)));

/** One tenant for each lane, with one endpoint. */
class Tenants {
  private readonly ids = new Map<string, Promise<string>>();
  private readonly endpoints: WebhookEndpoints;
  private readonly port: Promise<number>;

  constructor(app: INestApplicationContext) {
    this.endpoints = app.get(WebhookEndpoints);
    const read = app.get(DataSource).query<[{ port: number }]>('SELECT port FROM bench_receiver');
    this.port = read.then(([row]) => row.port);
  }

  /** The id of a tenant's endpoint, which is registered when it is asked for the first time. */
  endpointOf(tenant: string): Promise<string> {
    const known = this.ids.get(tenant) ?? this.register(tenant);
    this.ids.set(tenant, known);
    return known;
  }

  private async register(tenant: string): Promise<string> {
    const [there] = await this.endpoints.list(tenant);
    if (there) return there.id;
    const url = `http://127.0.0.1:${await this.port}/${tenant}`;
    const { endpoint } = await this.endpoints.register({ tenant, url, kinds: [kind] });
    return endpoint.id;
  }
}

/** Tenants' endpoints: each message is sealed, signed, and posted to a receiver in the worker's process. Lanes are tenants. */
export const webhooks: Contender = {
  async setUp(url) {
    const app = await start(url, onlyRecords);
    // A port that was free a moment ago, so that the URLs are the same in every copy of the database.
    const receiver = await startWebhookReceiver(() => undefined);
    receiver.close();
    const database = app.get(DataSource);
    await database.query('CREATE TABLE bench_receiver (port integer NOT NULL)');
    await database.query('INSERT INTO bench_receiver VALUES ($1)', [receiver.port]);
    await app.close();
  },

  async lists(url) {
    const app = await start(url, onlyRecords);
    const [recorder, channel, tenants] = [app.get(DeliveryRecorder), app.get(EndpointChannel), new Tenants(app)];
    return {
      async record(kinds) {
        const drafts = await Promise.all(
          kinds.map(async ({ lane: tenant = 'everybody', seq }) =>
            channel.draft({ id: await tenants.endpointOf(tenant), tenant }, kind, bodyOf(seq)),
          ),
        );
        return recorder.transaction((tx) => recorder.enqueue(tx, EndpointChannel, drafts));
      },
      close: () => app.close(),
    };
  },

  async recorder(url, clients) {
    const app = await start(url, onlyRecords, clients);
    const [recorder, endpoints, tenants] = [app.get(DeliveryRecorder), app.get(WebhookEndpoints), new Tenants(app)];
    return {
      async record(n, _client, deliveries = [{}]) {
        const messages = deliveries.map(({ lane: tenant = 'everybody', seq }, index) => ({
          tenant,
          kind,
          body: bodyOf(seq ?? n + index),
        }));
        await Promise.all(messages.map(({ tenant }) => tenants.endpointOf(tenant)));
        return recorder.transaction(async (tx) => {
          await writeBusinessRow(tx, n);
          for (const message of messages) await endpoints.publish(tx, message);
          return monotonic();
        });
      },
      close: () => app.close(),
    };
  },

  async work(url, { concurrency, batch }, handle) {
    const app = await start(url, { workers: 1, concurrency: concurrency ?? batch ?? settings.slots });
    const [row] = await app.get(DataSource).query<[{ port: number }]>('SELECT port FROM bench_receiver');
    const receiver = await startWebhookReceiver(handle, row.port);
    return {
      async stop() {
        await app.close();
        receiver.close();
      },
    };
  },

  async isDrained(query) {
    const rows = await query(
      `SELECT FROM deliveries.deliveries WHERE channel = 'webhooks' AND status = 'pending' LIMIT 1`,
    );
    return rows.length === 0;
  },
};
