import type { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { ChannelRegistry } from '../../channel/channel-registry';
import { InvalidRequestError } from '../../errors';
import {
  actorOf,
  checkLimit,
  optionalDuration,
  optionalFlag,
  optionalInstant,
  readCursor,
  refuseUnknownKeys,
  writtenCursor,
} from '../check-request';
import { requireConditions, matching, type DeliveryConditions } from '../match/conditions';
import type { DeliveryFinder } from '../match/delivery-finder';
import type { BulkOptions, BulkReport, BulkRetryOptions } from './bulk-view';
import { cancelManySql } from './cancel-many.sql';
import { retryManySql } from './retry-many.sql';

/** Rows that one transaction changes: some 20 ms. */
const chunk = 500;
/** Keys whose waiting deliveries one transaction touches: there may be thousands behind each. */
const chunkWithBehind = 20;
/** A call ends soon after this long, in ms, so that whoever waits for it learns how far it came. */
const patience = 10_000;
/** How often rows that somebody holds locked are asked for again. */
const tries = 3;

const allOptions = ['actor', 'asOf', 'limit', 'after'] as const;

/** Changes a chunk of deliveries in a transaction of its own. */
type Change = (ids: readonly string[], asOf: Date) => Promise<Changed>;

interface Changed {
  readonly changed: number;
  /** Channels in which something may have become due. */
  readonly channels: readonly string[];
  /** Ids that somebody held locked. */
  readonly busy: readonly string[];
}

/** Retries and cancels of all that match. */
export class BulkOperations {
  private readonly retryText: string;
  private readonly cancelText: string;

  constructor(
    private readonly dataSource: DataSource,
    private readonly channels: ChannelRegistry,
    private readonly finder: DeliveryFinder,
    private readonly onDue: (channel: string) => void,
    schema: string,
  ) {
    this.retryText = retryManySql(schema);
    this.cancelText = cancelManySql(schema);
  }

  async retry(conditions: DeliveryConditions, options: BulkRetryOptions): Promise<BulkReport> {
    refuseUnknownKeys(options, [...allOptions, 'spreadOver', 'restartAgeBehind']);
    const actor = actorOf(options);
    const spread = optionalDuration(options.spreadOver, 'spreadOver') ?? 0;
    if (spread > 86_400_000) throw new InvalidRequestError('spreadOver', 'must be 24 hours at most');
    const behind = optionalFlag(options.restartAgeBehind, 'restartAgeBehind');
    const channels = this.channels.all();
    const revivable = channels.filter(({ revivesCancelled }) => revivesCancelled).map(({ name }) => name);
    const change: Change = (ids, asOf) =>
      this.change(this.retryText, [
        ids,
        actor,
        ids.map(() => uuidv7()),
        revivable,
        asOf,
        behind,
        spread,
        channels.map(({ name }) => name),
        channels.map(({ maxAge }) => maxAge),
      ]);
    return this.run('retry', conditions, options, change, behind ? chunkWithBehind : chunk);
  }

  async cancel(conditions: DeliveryConditions, options: BulkOptions): Promise<BulkReport> {
    refuseUnknownKeys(options, allOptions);
    const actor = actorOf(options);
    const channels = this.channels.all();
    const change: Change = (ids, asOf) =>
      this.change(this.cancelText, [
        ids,
        actor,
        ids.map(() => uuidv7()),
        asOf,
        channels.map(({ name }) => name),
        channels.map(({ lease }) => lease),
      ]);
    return this.run('cancel', conditions, options, change, chunk);
  }

  private async run(
    operation: 'retry' | 'cancel',
    conditions: DeliveryConditions,
    options: BulkOptions,
    change: Change,
    atOnce: number,
  ): Promise<BulkReport> {
    requireConditions(conditions, operation);
    const limit = checkLimit(options.limit, 10_000, 10_000);
    let from = readCursor(options.after);
    const asOf = optionalInstant(options.asOf, 'asOf') ?? (await this.now());
    const matched = matching(conditions, this.finder.purpose(operation, asOf, conditions));
    const until = performance.now() + patience;
    const busy: string[] = [];
    let changed = 0;
    do {
      const page = await this.finder.next(matched, Math.min(atOnce, limit - changed), from);
      const done = await change(page.ids, asOf);
      changed += done.changed;
      busy.push(...done.busy);
      from = page.next;
    } while (from !== undefined && changed < limit && performance.now() < until);
    for (let time = 0; time < tries && busy.length > 0; time += 1) {
      const done = await change(busy.splice(0, atOnce), asOf);
      changed += done.changed;
      busy.push(...done.busy);
    }
    return { changed, busy: busy.length, next: from && writtenCursor(from) };
  }

  private async change(text: string, values: unknown[]): Promise<Changed> {
    if ((values[0] as string[]).length === 0) return { changed: 0, channels: [], busy: [] };
    const done = await this.dataSource.transaction('READ COMMITTED', async (tx) => {
      const [row] = await tx.query<[Changed]>(text, values);
      return row;
    });
    for (const channel of done.channels) this.onDue(channel);
    return done;
  }

  private async now(): Promise<Date> {
    const [row] = await this.dataSource.query<[{ now: Date }]>(
      `SELECT date_trunc('milliseconds', clock_timestamp()) + interval '1 ms' AS now`,
    );
    return row.now;
  }
}
