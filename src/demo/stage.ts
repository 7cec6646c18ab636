import { Client } from 'pg';
import { startApplication, type Application } from '../application';
import type { Configuration } from '../configuration';
import { createTestCa, type TestCa } from './certificates';
import { openDemoDatabase, type DemoDatabase } from './demo-database';
import { deliveriesSql, type StoredDelivery } from './facts';
import { startReceiver, type Receiver } from './receiver';
import { ReplicaProcess } from './replica-process';
import { until } from './until';

/** Deadline of one attempt, in ms. */
export const sendTimeout = 2_000;
/** How long a claim holds a delivery, in ms: the shortest that goes with `sendTimeout`. */
export const lease = sendTimeout + 5_000;

/** Everything that the demonstration starts, and how it is cleared away again. */
export class Stage {
  private readonly replicas: ReplicaProcess[] = [];
  private readonly receivers: Receiver[] = [];
  private inProcess: Application | undefined;

  private constructor(
    readonly database: DemoDatabase,
    private readonly ca: TestCa,
  ) {}

  static async set(): Promise<Stage> {
    const ca = await createTestCa();
    return new Stage(await openDemoDatabase(process.env.DATABASE_URL), ca);
  }

  async receiver(name: string): Promise<Receiver> {
    const receiver = await startReceiver(name, await this.ca.issue({ hosts: ['127.0.0.1'] }));
    this.receivers.push(receiver);
    return receiver;
  }

  /** Replica A runs in this process. @returns its address */
  async startA(): Promise<string> {
    this.inProcess = await startApplication(this.configuration('A'), 0, ['error', 'fatal']);
    return this.inProcess.url;
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
    const replica = new ReplicaProcess(this.configuration(name));
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

  /** On a connection of its own: it is asked for while replicas come and go. */
  async deliveries(): Promise<StoredDelivery[]> {
    const client = new Client({ connectionString: this.database.url });
    try {
      await client.connect();
      return (await client.query<StoredDelivery>(deliveriesSql)).rows;
    } finally {
      await client.end();
    }
  }

  async clear(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.kill()));
    await this.stopA();
    for (const receiver of this.receivers) receiver.close();
    await this.database.close();
  }

  private configuration(replica: string): Configuration {
    return {
      databaseUrl: this.database.url,
      replica,
      // Everything is faster than by default, so that nobody has to wait a minute for a lease.
      deliveries: {
        sendTimeout,
        lease,
        pollInterval: 200,
        retry: { first: 500, max: '1s' },
        shutdownGrace: '3s',
      },
      // The receivers are on this machine, with certificates of the demonstration's own authority.
      outboundHttp: { testMode: { ca: this.ca.certificate }, production: false },
    };
  }
}
