import type { Type } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { ChannelHandler } from '../channel/channel.decorator';
import type { ChannelRegistry } from '../channel/channel-registry';
import { connectionOf, type Transaction } from '../database/caller-transaction';
import { OrderedPurgeError } from '../errors';
import { AuditTrail } from './audit/audit-trail';
import type { AuditFilter, AuditPage } from './audit/audit-view';
import { BulkOperations } from './bulk/bulk-operations';
import type {
  BulkCount,
  BulkOperation,
  BulkOptions,
  BulkReport,
  BulkRetryOptions,
  CappedCount,
} from './bulk/bulk-view';
import { recipientJson } from './check-request';
import type { DeliveryDetail, DeliveryPage } from './delivery-view';
import { requireConditions, type DeliveryConditions } from './match/conditions';
import { DeliveryFinder, type DeliveryFilter } from './match/delivery-finder';
import { OneDelivery, revivable, type CancelledDelivery, type RetriedDelivery } from './one-delivery';
import type { QueueStats, Throughput, ThroughputOptions } from './overview/overview-view';
import { Overview } from './overview/overview';
import type { PauseOptions, PauseTarget, PauseView } from './pauses/pause-view';
import { Pauses } from './pauses/pauses';
import { purgeSql } from './purge.sql';
import { Reader } from './reader';

// Each type argument stands in both directions (what `deliveries` gives, what `send` takes): only `any` fits every channel.
type AnyChannel = ChannelHandler<any, any, any>;

/**
 * What operators do with deliveries. Every retry and cancel is recorded as an event, with who did it, in the same transaction.
 * The admin routes, the dashboard and the commands call this and hold no rules of their own.
 */
export class DeliveryOperations {
  private readonly one: OneDelivery;
  private readonly finder: DeliveryFinder;
  private readonly bulk: BulkOperations;
  private readonly held: Pauses;
  private readonly overview: Overview;
  private readonly trail: AuditTrail;
  private readonly purgeText: string;

  constructor(
    private readonly dataSource: DataSource,
    private readonly channels: ChannelRegistry,
    schema: string,
    /** Called when something of a channel may have become due. */
    onDue: (channel: string) => void,
  ) {
    const reader = new Reader(dataSource);
    this.one = new OneDelivery(dataSource, channels, reader, onDue, schema);
    this.finder = new DeliveryFinder(reader, schema, () => revivable(channels));
    this.bulk = new BulkOperations(dataSource, channels, this.finder, onDue, schema);
    this.held = new Pauses(dataSource, channels, reader, onDue, schema);
    this.overview = new Overview(reader, channels, this.held, schema);
    this.trail = new AuditTrail(reader, schema);
    this.purgeText = purgeSql(schema);
  }

  /**
   * Sends a failed delivery again, now, with a new `maxAge`; or a cancelled one that has no ordering key, where its channel
   * allows that. Its id and its history stay, and so does its deadline.
   *
   * @param options.restartAgeBehind the age of all that waits behind it in its key restarts too: it was in their way
   * @throws DeliveryNotFoundError, DeliveryStateError, InvalidRequestError; RequestTimeoutError after ten seconds, unless
   *   `restartAgeBehind` is asked for
   */
  async retry(id: string, options: { actor: string; restartAgeBehind?: boolean }): Promise<RetriedDelivery> {
    return this.noticed(this.one.retry(id, options));
  }

  /**
   * Gives a pending or failed delivery up. One that is being sent cannot be recalled, but its outcome is dropped; one that has
   * an ordering key is cancelled for good, since later ones may be sent before anybody thinks better of it.
   *
   * @throws DeliveryNotFoundError, DeliveryStateError, InvalidRequestError; RequestTimeoutError after ten seconds
   */
  async cancel(id: string, options: { actor: string }): Promise<CancelledDelivery> {
    return this.noticed(this.one.cancel(id, options));
  }

  /** @throws DeliveryNotFoundError */
  async show(id: string): Promise<DeliveryDetail> {
    return this.one.show(id);
  }

  /**
   * A page of deliveries, newest first: by creation and id, or by id alone where more than 5,000 pending ones are among those listed.
   * @throws InvalidRequestError
   */
  async list(filter: DeliveryFilter = {}): Promise<DeliveryPage> {
    return this.finder.list(filter);
  }

  /**
   * How many deliveries fit, 10,000 at most.
   * @throws InvalidRequestError
   */
  async count(conditions: DeliveryConditions = {}): Promise<CappedCount> {
    return this.finder.count(conditions);
  }

  /**
   * How many deliveries a retry or a cancel of all that fit would change: what to show before it is done.
   * @throws InvalidRequestError
   */
  async countMatching(operation: BulkOperation, conditions: DeliveryConditions): Promise<BulkCount> {
    requireConditions(conditions, operation);
    return this.finder.countMatching(operation, conditions);
  }

  /**
   * Retries all that fit and can be retried, oldest first, in short transactions of their own; each is recorded like a single
   * retry. Failed ones, unless `conditions` ask for cancelled ones by their status or by ids. A call ends after some 10 seconds at the
   * latest; `next` says where another goes on.
   *
   * @param conditions at least one of them
   * @throws InvalidRequestError
   */
  retryMatching(conditions: DeliveryConditions, options: BulkRetryOptions): Promise<BulkReport> {
    return this.noticed(this.bulk.retry(conditions, options));
  }

  /**
   * Cancels all that fit and can be cancelled, oldest first, in short transactions of their own; each is recorded like a single
   * cancel. Pending and failed ones, unless `conditions.status` says which. A call ends after some 10 seconds at the latest; `next`
   * says where another goes on.
   *
   * @param conditions at least one of them
   * @throws InvalidRequestError
   */
  cancelMatching(conditions: DeliveryConditions, options: BulkOptions): Promise<BulkReport> {
    return this.noticed(this.bulk.cancel(conditions, options));
  }

  /** How the queue stands, channel by channel. */
  stats(): Promise<QueueStats> {
    return this.overview.now();
  }

  /**
   * How many deliveries ended, over time: for a chart.
   * @throws InvalidRequestError
   */
  throughput(options: ThroughputOptions = {}): Promise<Throughput> {
    return this.overview.throughput(options);
  }

  /** The channels and lanes that are paused now, by name; 1,000 at most. */
  pauses(): Promise<readonly PauseView[]> {
    return this.held.all();
  }

  /**
   * Workers of every process leave a channel, or a lane of it, alone: what is being sent goes on, nothing more is claimed. A
   * second pause of the same replaces the first.
   *
   * @param options.until when it goes on by itself, or with `for` after how long; default: when somebody resumes it
   * @throws InvalidRequestError
   */
  pause(target: PauseTarget, options: PauseOptions): Promise<PauseView> {
    return this.noticed(this.held.pause(target, options));
  }

  /**
   * Takes every pause of a channel, or of a lane of it, back, whatever its reason.
   * @returns what was taken back; empty when it was not paused
   * @throws InvalidRequestError
   */
  resume(target: PauseTarget, options: { actor: string }): Promise<readonly PauseView[]> {
    return this.noticed(this.held.resume(target, options));
  }

  /**
   * What operators and clean-up did, newest first.
   * @throws InvalidRequestError
   */
  audit(filter: AuditFilter = {}): Promise<AuditPage> {
    return this.trail.page(filter);
  }

  /**
   * Erases a person's deliveries of a channel, whatever their state, in the caller's own transaction and on its connection.
   * Only those without an ordering key: if one has one, nothing is erased.
   *
   * @param tx the `EntityManager` or `QueryRunner` of an open transaction
   * @param options.recipient what their recipients contain, for example `{ accountId: 42 }`
   * @returns how many were erased
   * @throws TransactionRequiredError, UnknownChannelError, InvalidRequestError, OrderedPurgeError: the transaction stays usable
   */
  async purge<C extends AnyChannel>(
    tx: Transaction,
    channelClass: Type<C>,
    options: { recipient: unknown },
  ): Promise<number> {
    const runner = connectionOf(tx, this.dataSource);
    const { name } = this.channels.of(channelClass);
    const values = [name, recipientJson((Object(options) as { recipient?: unknown }).recipient)];
    const [row] = (await runner.query(this.purgeText, values)) as [{ erased: number; ordered: number }];
    if (row.ordered > 0) throw new OrderedPurgeError(name, row.ordered);
    return row.erased;
  }

  /** Whoever changed something looks next what became of it. */
  private noticed<T>(change: Promise<T>): Promise<T> {
    return change.finally(() => this.overview.forget());
  }
}
