import { type DeliveryDraft, type DeliveryEvent, DeliveryChannel, type Outcome, succeeded } from 'nest-deliveries';
import { Client } from 'pg';
import { WorkerDatabase } from '../../libs/deliveries/src/database/worker-database';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { type ChannelName, replicaCount } from './commands';

const hour = 3_600_000;

/**
 * The channels' settings. Waits and leases are so long that none ends by itself while a history runs: histories end them
 * in the tables.
 */
export const limits = {
  mail: { maxAge: 24 * hour, maxAttempts: undefined, retry: { first: hour, max: 5 * hour } },
  hook: { maxAge: 24 * hour, maxAttempts: 2, retry: { first: hour, max: 5 * hour } },
} as const;

export const lease = hour;

/** What an event of a history carries: which deliveries it causes. */
export interface Wanted extends Omit<DeliveryDraft, 'destination' | 'payload'> {
  readonly n: number;
  readonly channel: ChannelName;
}

abstract class Channel {
  protected abstract readonly name: ChannelName;

  deliveries({ payload }: DeliveryEvent): DeliveryDraft[] {
    const wanted = (payload as Wanted[]).filter(({ channel }) => channel === this.name);
    return wanted.map(({ n, orderingKey, notBefore }) => ({
      destination: `#${n}`,
      payload: { n },
      ...(orderingKey ? { orderingKey } : {}),
      ...(notBefore ? { notBefore: new Date(notBefore) } : {}),
    }));
  }

  /** Histories send by themselves. */
  send(): Promise<Outcome> {
    return Promise.resolve(succeeded());
  }
}

const settings = { sendTimeout: hour / 2, lease };

@DeliveryChannel({ name: 'mail', ...settings, ...limits.mail })
class Mail extends Channel {
  protected readonly name = 'mail';
}

@DeliveryChannel({ name: 'hook', ...settings, ...limits.hook })
class Hook extends Channel {
  protected readonly name = 'hook';
}

/** A database and the connections to it, used by one history after another. */
export class World {
  private constructor(
    private readonly database: TestDatabase,
    readonly app: DeliveriesApp,
    /** Looks, and moves what time would move. */
    readonly hand: Client,
    /** Somebody else's connection. */
    readonly other: Client,
    readonly workerDatabases: readonly WorkerDatabase[],
  ) {}

  static async create(): Promise<World> {
    const database = await createTestDatabase();
    // It records and operates; what its workers would do, the histories do.
    const app = await startDeliveriesApp(database.url, [Mail, Hook], {
      run: [],
      cleanUpInterval: false,
      channels: { hook: { revivesCancelled: false } },
    });
    const [hand, other] = await Promise.all([connected(database.url), connected(database.url)]);
    const workers = Array.from({ length: replicaCount }, () => {
      return new WorkerDatabase({ connectionString: database.url, max: 1 });
    });
    return new World(database, app, hand, other, workers);
  }

  /** Takes away what the last history left. DELETE: on a few rows TRUNCATE costs ten times as much. */
  async clear(): Promise<void> {
    await this.hand.query(`
      DELETE FROM deliveries.deliveries;
      DELETE FROM deliveries.delivery_removals;
      DELETE FROM deliveries.events;
      DELETE FROM deliveries.delivery_orderings`);
  }

  /** Also when statements hang, as after a history that failed. */
  async close(): Promise<void> {
    await this.database.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await Promise.allSettled([
      this.hand.end(),
      this.other.end(),
      ...this.workerDatabases.map((each) => each.onApplicationShutdown()),
    ]);
    await this.app.close().catch(() => undefined);
    await this.database.drop();
  }
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}
