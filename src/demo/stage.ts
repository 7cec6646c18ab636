import type { LogLevel } from '@nestjs/common';
import { createRemoteJWKSet } from 'jose';
import { Client, type QueryResultRow } from 'pg';
import { startApplication, type Application } from '../application';
import type { Configuration } from '../configuration';
import { createTestCa, type TestCa } from './certificates';
import { openDemoDatabase, type DemoDatabase } from './demo-database';
import { deliveriesSql, type StoredDelivery } from './facts';
import { startMailSink, type MailSink } from './mail-sink';
import { startReceiver, type Receiver } from './receiver';
import { startRelyingParty, type RelyingParty } from './relying-party';
import { ReplicaProcess } from './replica-process';
import { newSecrets } from '../secrets';
import { until } from './until';
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver';

/** Deadline of one attempt to tell a partner, in ms. */
export const sendTimeout = 2_000;
/** How long a claim holds such a delivery, in ms: the shortest that goes with `sendTimeout`. */
export const lease = sendTimeout + 5_000;

const usual = { sendTimeout: '10s', lease: '15s' } as const;
/** Whatever goes on while the mail server holds announcements back, also on a busy machine. */
const slow = { sendTimeout: '40s', lease: '45s' } as const;

/** Where links in emails lead; nothing listens there. */
export const publicUrl = 'https://accounts.example';
export const operatorToken = 'demonstration-only';

/** Everything that the demonstration starts, and how it is cleared away again. */
export class Stage {
  private readonly replicas: ReplicaProcess[] = [];
  private readonly receivers: { close(): void }[] = [];
  private readonly parties: RelyingParty[] = [];
  private readonly secrets = newSecrets();
  private inProcess: Application | undefined;

  private constructor(
    readonly database: DemoDatabase,
    /** Where emails go. */
    readonly mail: MailSink,
    private readonly ca: TestCa,
    private readonly logLevels: readonly LogLevel[],
  ) {}

  /** @param logLevels of every replica */
  static async set(logLevels: readonly LogLevel[] = ['error', 'fatal']): Promise<Stage> {
    const [ca, mail] = await Promise.all([createTestCa(), startMailSink()]);
    return new Stage(await openDemoDatabase(process.env.DATABASE_URL), mail, ca, logLevels);
  }

  /** A client of the application as an OpenID provider, that fetches the published keys. */
  async relyingParty(clientId: string): Promise<RelyingParty> {
    const keys = createRemoteJWKSet(new URL(`${this.addressOfA}/.well-known/jwks.json`));
    const certificate = await this.ca.issue({ hosts: ['127.0.0.1'] });
    const party = await startRelyingParty(certificate, () => ({ issuer: publicUrl, clientId, keys }));
    this.parties.push(party);
    return party;
  }

  async receiver(name: string): Promise<Receiver> {
    const receiver = await startReceiver(name, await this.ca.issue({ hosts: ['127.0.0.1'] }));
    this.receivers.push(receiver);
    return receiver;
  }

  /** A system that verifies signed webhooks. */
  async webhookReceiver(): Promise<WebhookReceiver> {
    const receiver = await startWebhookReceiver(await this.ca.issue({ hosts: ['127.0.0.1'] }));
    this.receivers.push(receiver);
    return receiver;
  }

  /** Replica A runs in this process. @returns its address */
  async startA(): Promise<string> {
    this.inProcess = await startApplication(this.configuration('A'), 0, [...this.logLevels]);
    return this.inProcess.url;
  }

  /** What replicas in processes of their own have said. */
  get output(): string {
    return this.replicas.map(({ output }) => output).join('');
  }

  get addressOfA(): string {
    return this.inProcess!.url;
  }

  async stopA(): Promise<void> {
    await this.inProcess?.close();
    this.inProcess = undefined;
  }

  /** Any other replica has a process of its own. */
  async startReplica(name: string): Promise<ReplicaProcess> {
    const replica = new ReplicaProcess(this.configuration(name), this.logLevels);
    this.replicas.push(replica);
    await replica.up();
    return replica;
  }

  /** Waits until every delivery of an account has ended. */
  async settled(handle: string): Promise<void> {
    await until(`the deliveries of "${handle}" have ended`, async () => {
      const its = (await this.deliveries()).filter((each) => each.handle === handle);
      return its.length > 0 && its.every(({ status }) => status !== 'pending') ? true : undefined;
    });
  }

  deliveries(): Promise<StoredDelivery[]> {
    return this.query<StoredDelivery>(deliveriesSql, []);
  }

  /** How many rows a query has. */
  async count(sql: string, parameters: readonly unknown[]): Promise<number> {
    return (await this.query(sql, parameters)).length;
  }

  async clear(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.kill()));
    await this.stopA();
    for (const each of [...this.receivers, ...this.parties]) each.close();
    await this.mail.close();
    await this.database.close();
  }

  /** On a connection of its own: it is asked for while replicas come and go. */
  private async query<Row extends QueryResultRow>(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    const client = new Client({ connectionString: this.database.url });
    try {
      await client.connect();
      return (await client.query<Row>(sql, [...parameters])).rows;
    } finally {
      await client.end();
    }
  }

  private configuration(replica: string): Configuration {
    return {
      databaseUrl: this.database.url,
      replica,
      operatorToken,
      publicUrl,
      secrets: this.secrets,
      testLogin: true,
      email: {
        url: this.mail.url,
        from: { name: 'Accounts', address: 'accounts@accounts.example' },
        // The mail server of the demonstration takes its time with announcements.
        timeout: slow.sendTimeout,
      },
      // Everything is faster than by default.
      deliveries: {
        ...usual,
        pollInterval: 200,
        retry: { first: 500, max: '1s' },
        shutdownGrace: '3s',
        channels: {
          // So that nobody has to wait a minute for a lease.
          partner_notification: { sendTimeout, lease },
          announcement: slow,
          webhooks: { retry: { first: 500, max: '1s' } },
        },
      },
      // The receivers are on this machine, with certificates of the demonstration's own authority.
      outboundHttp: { testMode: { ca: this.ca.certificate }, production: false },
    };
  }
}
