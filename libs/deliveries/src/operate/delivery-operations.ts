import type { Type } from '@nestjs/common';
import type { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { ChannelHandler } from '../channel/channel.decorator';
import type { ChannelRegistry } from '../channel/channel-registry';
import { connectionOf, type Transaction } from '../database/caller-transaction';
import type { DeliveryStatus } from '../delivery/status';
import { DeliveryNotFoundError, DeliveryStateError, OrderedPurgeError, RequestTimeoutError } from '../errors';
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
import { cancelSql } from './cancel.sql';
import { checkActor, isUuid, optionalFlag, recipientJson } from './check-request';
import { detailOf, type DeliveryDetail, type DeliveryPage, type DetailRow } from './delivery-view';
import { requireConditions, type DeliveryConditions } from './match/conditions';
import { DeliveryFinder, type DeliveryFilter } from './match/delivery-finder';
import type { QueueStats, Throughput, ThroughputOptions } from './overview/overview-view';
import { Overview } from './overview/overview';
import type { PauseTarget, PauseView } from './pauses/pause-view';
import { Pauses } from './pauses/pauses';
import { purgeSql } from './purge.sql';
import { Reader } from './reader';
import { retrySql } from './retry.sql';
import { showSql, wasAbandonedSql } from './show.sql';

/** What a retry did. */
export interface RetriedDelivery {
  /** When it is sent again: now, or when an attempt that was cancelled in flight cannot reach the receiver any more. */
  readonly dueAt: Date;
  /** Deliveries behind it in its key whose age restarted with its own. */
  readonly restartedBehind: number;
}

/** What a cancel met. */
export interface CancelledDelivery {
  readonly was: DeliveryStatus;
  /** It was being sent: the attempt may still reach the receiver, and its outcome is dropped. */
  readonly wasInFlight: boolean;
}

/** How long a change of one delivery may take, in ms: somebody may hold it locked. */
const changeTimeout = 10_000;

// Each type argument stands in both directions (what `deliveries` gives, what `send` takes): only `any` fits every channel.
type AnyChannel = ChannelHandler<any, any, any>;

/**
 * What operators do with deliveries. Every retry and cancel is recorded as an event, with who did it, in the same transaction.
 * The admin routes, the dashboard and the commands call this and hold no rules of their own.
 */
export class DeliveryOperations {
  private readonly reader: Reader;
  private readonly finder: DeliveryFinder;
  private readonly bulk: BulkOperations;
  private readonly held: Pauses;
  private readonly overview: Overview;
  private readonly trail: AuditTrail;
  private readonly retryText: string;
  private readonly cancelText: string;
  private readonly showText: string;
  private readonly wasAbandoned: string;
  private readonly purgeText: string;

  constructor(
    private readonly dataSource: DataSource,
    private readonly channels: ChannelRegistry,
    schema: string,
    /** Called when something of a channel may have become due. */
    private readonly onDue: (channel: string) => void,
  ) {
    this.retryText = retrySql(schema);
    this.cancelText = cancelSql(schema);
    this.reader = new Reader(dataSource);
    this.finder = new DeliveryFinder(this.reader, schema, () => this.revivable());
    this.bulk = new BulkOperations(dataSource, channels, this.finder, onDue, schema);
    this.held = new Pauses(dataSource, channels, this.reader, onDue, schema);
    this.overview = new Overview(this.reader, channels, this.held, schema);
    this.trail = new AuditTrail(this.reader, schema);
    this.showText = showSql(schema);
    this.wasAbandoned = wasAbandonedSql(schema);
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
    const actor = checkActor(options.actor);
    const behind = optionalFlag(options.restartAgeBehind, 'restartAgeBehind');
    const values = [id, actor, uuidv7(), this.revivable(), behind];
    // There may be a million behind it.
    const row = await this.change<RetryRow>(id, this.retryText, values, behind ? 0 : changeTimeout);
    if (row.refusal !== null) {
      throw new DeliveryStateError(id, 'retry', row.status, row.in_flight, refusals[row.refusal]);
    }
    this.onDue(row.channel);
    return { dueAt: row.due_at, restartedBehind: row.restarted_behind };
  }

  /**
   * Gives a pending or failed delivery up. One that is being sent cannot be recalled, but its outcome is dropped; one that has
   * an ordering key is cancelled for good, since later ones may be sent before anybody thinks better of it.
   *
   * @throws DeliveryNotFoundError, DeliveryStateError, InvalidRequestError; RequestTimeoutError after ten seconds
   */
  async cancel(id: string, options: { actor: string }): Promise<CancelledDelivery> {
    const actor = checkActor(options.actor);
    const channels = this.channels.all();
    const row = await this.change<CancelRow>(id, this.cancelText, [
      id,
      actor,
      uuidv7(),
      channels.map(({ name }) => name),
      channels.map(({ lease }) => lease),
    ]);
    if (!row.cancelled) {
      const reason = 'Only a pending or a failed delivery can be cancelled; this one has ended.';
      throw new DeliveryStateError(id, 'cancel', row.status, row.in_flight, reason);
    }
    if (row.ordering_key !== null) this.onDue(row.channel);
    return { was: row.status, wasInFlight: row.in_flight };
  }

  /** @throws DeliveryNotFoundError */
  async show(id: string): Promise<DeliveryDetail> {
    if (!isUuid(id)) throw new DeliveryNotFoundError(String(id), false);
    return this.reader.read(async (tx) => {
      const [row] = await tx.query<DetailRow[]>(this.showText, [id]);
      return row ? detailOf(row) : this.refuseUnknown(tx, id);
    });
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
   * @param options.until when it goes on by itself; default: when somebody resumes it
   * @throws InvalidRequestError
   */
  pause(target: PauseTarget, options: { actor: string; until?: Date }): Promise<PauseView> {
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
    const values = [name, recipientJson(options.recipient)];
    const [row] = (await runner.query(this.purgeText, values)) as [{ erased: number; ordered: number }];
    if (row.ordered > 0) throw new OrderedPurgeError(name, row.ordered);
    return row.erased;
  }

  /** @param limit in ms; 0 for none */
  private async change<Row>(id: string, text: string, values: unknown[], limit = changeTimeout): Promise<Row> {
    if (!isUuid(id)) throw new DeliveryNotFoundError(String(id), false);
    const changed = this.dataSource.transaction('READ COMMITTED', async (tx) => {
      await tx.query(`SET LOCAL statement_timeout = ${limit}`);
      const [row] = await tx.query<Row[]>(text, values);
      return row ?? this.refuseUnknown(tx, id);
    });
    return this.noticed(changed).catch((error: { code?: unknown }) => {
      // 57014: query_canceled
      throw error.code === '57014' ? new RequestTimeoutError(limit, { cause: error }) : error;
    });
  }

  /** Whoever changed something looks next what became of it. */
  private noticed<T>(change: Promise<T>): Promise<T> {
    return change.finally(() => this.overview.forget());
  }

  /** Channels whose cancelled deliveries may be retried. */
  private revivable(): string[] {
    const channels = this.channels.all().filter(({ revivesCancelled }) => revivesCancelled);
    return channels.map(({ name }) => name);
  }

  /** A statement of its own: it sees what a clean-up that was waited for has committed. */
  private async refuseUnknown(tx: EntityManager, id: string): Promise<never> {
    const [row] = await tx.query<[{ abandoned: boolean }]>(this.wasAbandoned, [id]);
    throw new DeliveryNotFoundError(id, row.abandoned);
  }
}

const refusals = {
  not_ended_badly: 'Only a failed delivery can be retried, or a cancelled one; pending ones are sent by themselves.',
  cancelled_in_order:
    'It has an ordering key, and what came after it may have been sent. Record it again if it is still to be sent.',
  cancelled_for_good: 'Its channel says revivesCancelled: false, or is not known here. Record it again instead.',
  past_deadline: 'Its deadline has passed, and a retry does not move it. Record it again with a later one.',
} as const;

interface RetryRow {
  readonly channel: string;
  readonly status: DeliveryStatus;
  readonly in_flight: boolean;
  readonly refusal: keyof typeof refusals | null;
  readonly due_at: Date;
  readonly restarted_behind: number;
}

interface CancelRow {
  readonly channel: string;
  readonly status: DeliveryStatus;
  readonly in_flight: boolean;
  readonly ordering_key: string | null;
  readonly cancelled: boolean;
}
