import type { Type } from '@nestjs/common';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { DeliveryEvent } from '../delivery/delivery';
import type { DeliveryDraft } from '../delivery/draft';
import type { ChannelHandler } from '../channel/channel.decorator';
import type { ChannelRegistry } from '../channel/channel-registry';
import { connectionOf, type Transaction } from '../database/caller-transaction';
import { checkDraft, checkDraftList, checkEvent, type CheckedDraft } from './check-draft';
import type { CommitWatch } from './commit-watch';
import type { DeliveryInserter, NewDelivery, NewEvent, RecordedDelivery } from './delivery-inserter';

/** The isolation levels of PostgreSQL, as TypeORM spells them. */
export type Isolation = 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';

/** What `record` wrote for one event. */
export interface RecordedEvent {
  readonly eventId: string;
  readonly deliveries: readonly RecordedDelivery[];
}

// Each type argument stands in both directions (what `deliveries` gives, what `send` takes): only `any` fits every channel.
type AnyChannel = ChannelHandler<any, any, any>;

type Sent<C extends AnyChannel> = Parameters<C['send']>[0];

/**
 * What `enqueue` takes for a channel class: its `send` says what the payload and the recipient are. A `send` whose
 * parameter names only a part of the delivery, such as `{ payload }: { payload: string }`, says what it names.
 */
export type DraftOf<C extends AnyChannel> = DeliveryDraft<
  Sent<C> extends { readonly payload: infer Payload } ? Payload : unknown,
  Sent<C> extends { readonly recipient: infer Recipient } ? Exclude<Recipient, null> : unknown
>;

/**
 * Records deliveries in the caller's own transaction: committed together with the caller's change, or not at all.
 *
 * It uses the caller's connection and no other, takes no lock that other transactions share (ordering and dedupe keys apart), and
 * leaves the transaction usable when it refuses something.
 */
export class DeliveryRecorder {
  /** Deliveries of open `recorder.transaction`s that wait for the commit, by connection. */
  private readonly deferred = new WeakMap<QueryRunner, NewDelivery[]>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly channels: ChannelRegistry,
    private readonly inserter: DeliveryInserter,
    private readonly commits: CommitWatch,
  ) {}

  /**
   * Writes what happened and every delivery that the application's channels derive from it.
   *
   * @param tx the `EntityManager` or `QueryRunner` of an open transaction
   * @throws TransactionRequiredError, InvalidDraftError: before any SQL; DedupeConflictError; and whatever a channel's
   *   `deliveries` throws. After each, the transaction is as usable as before (unless a channel's own SQL failed in it).
   */
  record(tx: Transaction, event: DeliveryEvent): Promise<RecordedEvent>;
  record(tx: Transaction, events: readonly DeliveryEvent[]): Promise<RecordedEvent[]>;
  async record(
    tx: Transaction,
    given: DeliveryEvent | readonly DeliveryEvent[],
  ): Promise<RecordedEvent | RecordedEvent[]> {
    const runner = connectionOf(tx, this.dataSource);
    const events: readonly DeliveryEvent[] = Array.isArray(given) ? given : [given];
    const checked = events.map((event) => ({ id: uuidv7(), ...checkEvent(event) }));
    const caused: NewDelivery[][] = [];
    for (const [index, event] of events.entries()) {
      const drafts = await this.fanOut(event, runner.manager);
      caused.push(drafts.map((draft) => newDelivery(checked[index]!.id, draft)));
    }
    await this.insert(runner, checked, caused.flat());
    const recorded = checked.map(({ id }, index) => ({
      eventId: id,
      deliveries: caused[index]!.map((d) => d.recorded),
    }));
    return Array.isArray(given) ? recorded : recorded[0]!;
  }

  /**
   * Writes deliveries of one channel, for a caller that has no event of its own: one of type `delivery_enqueued` is written.
   * The payload's type comes from the channel's class.
   *
   * @throws as {@link record}; and UnknownChannelError
   */
  enqueue<C extends AnyChannel>(tx: Transaction, channelClass: Type<C>, draft: DraftOf<C>): Promise<RecordedDelivery>;
  enqueue<C extends AnyChannel>(
    tx: Transaction,
    channelClass: Type<C>,
    drafts: readonly DraftOf<C>[],
  ): Promise<RecordedDelivery[]>;
  async enqueue<C extends AnyChannel>(
    tx: Transaction,
    channelClass: Type<C>,
    given: DraftOf<C> | readonly DraftOf<C>[],
  ): Promise<RecordedDelivery | RecordedDelivery[]> {
    const runner = connectionOf(tx, this.dataSource);
    const { name } = this.channels.of(channelClass);
    const drafts = (Array.isArray(given) ? given : [given]) as readonly DeliveryDraft[];
    const event = { id: uuidv7(), ...checkEvent({ type: 'delivery_enqueued', payload: { channel: name } }) };
    const deliveries = drafts.map((draft) => newDelivery(event.id, checkDraft(name, draft)));
    await this.insert(runner, [event], deliveries, { skipIdleEvent: true });
    const recorded = deliveries.map((delivery) => delivery.recorded);
    return Array.isArray(given) ? recorded : recorded[0]!;
  }

  /**
   * Runs `work` in a transaction of its own. Inside it, deliveries that could make two transactions wait for each other
   * (those with an ordering key or a dedupe key) are inserted together, in key order, just before the commit: their keys are locked
   * for a moment instead of the whole transaction, and opposite orders cannot deadlock. What a rolled-back savepoint
   * recorded is left out.
   *
   * @param options.isolation default `READ COMMITTED`, whatever the database's default is
   * @returns what `work` returned, after the commit
   * @throws what `work` throws, after the rollback; DedupeConflictError for a deferred delivery, after the rollback
   */
  async transaction<T>(work: (tx: EntityManager) => Promise<T>, options: { isolation?: Isolation } = {}): Promise<T> {
    return this.dataSource.transaction(options.isolation ?? 'READ COMMITTED', async (tx) => {
      const runner = tx.queryRunner!;
      const waiting: NewDelivery[] = [];
      this.deferred.set(runner, waiting);
      let result: T;
      try {
        result = await work(tx);
      } finally {
        // A record that nobody awaited may still come: it must not join a list that has been inserted already.
        this.deferred.delete(runner);
      }
      await this.insertDeferred(runner, waiting);
      return result;
    });
  }

  /** Every channel is asked; what they want is checked at once, so that a refusal leaves nothing half-written. */
  private async fanOut(event: DeliveryEvent, tx: EntityManager): Promise<CheckedDraft[]> {
    const drafts: CheckedDraft[] = [];
    for (const { name, handler } of this.channels.all()) {
      const wanted: unknown = await handler.deliveries(event, tx);
      for (const draft of checkDraftList(name, wanted)) drafts.push(checkDraft(name, draft));
    }
    return drafts;
  }

  /**
   * What can be refused comes first: when it is, nothing was written.
   * @param skipIdleEvent leave the event out when there is no delivery, or each turned out to be a duplicate
   */
  private async insert(
    runner: QueryRunner,
    events: Omit<NewEvent, 'deliveryIds'>[],
    deliveries: NewDelivery[],
    { skipIdleEvent = false } = {},
  ): Promise<void> {
    const waiting = this.deferred.get(runner);
    const keyed = deliveries.filter(isKeyed);
    if (waiting) waiting.push(...keyed);
    else await this.inserter.takeKeys(runner, keyed);
    const ready = waiting ? deliveries.filter((delivery) => !isKeyed(delivery)) : deliveries;
    const idle = deliveries.every(({ recorded }) => recorded.state === 'duplicate');
    if (!(skipIdleEvent && idle)) await this.inserter.insertPlain(runner, withDeliveryIds(events, deliveries), ready);
    this.commits.note(
      runner,
      deliveries.filter(({ recorded }) => recorded.state !== 'duplicate').map(({ draft }) => draft),
    );
  }

  private async insertDeferred(runner: QueryRunner, waiting: NewDelivery[]): Promise<void> {
    if (waiting.length === 0) return;
    const surviving = await this.inserter.surviving(runner, [...new Set(waiting.map(({ eventId }) => eventId))]);
    const still = waiting.filter(({ eventId }) => surviving.has(eventId));
    await this.inserter.takeKeys(runner, still);
    await this.inserter.insertPlain(runner, [], still);
    const duplicates = still.filter(({ recorded }) => recorded.state === 'duplicate');
    if (duplicates.length > 0) await this.inserter.noteNeverInserted(runner, duplicates);
  }
}

const isKeyed = ({ draft }: NewDelivery): boolean => draft.orderingKey !== null || draft.dedupeKey !== null;

/** Events with the ids of what they cause, which clean-up asks for; a duplicate is not caused by its event. */
function withDeliveryIds(events: Omit<NewEvent, 'deliveryIds'>[], deliveries: NewDelivery[]): NewEvent[] {
  const caused = new Map(events.map(({ id }) => [id, [] as string[]]));
  for (const { id, eventId, recorded } of deliveries) {
    if (recorded.state !== 'duplicate') caused.get(eventId)?.push(id);
  }
  return events.map((event) => ({ ...event, deliveryIds: caused.get(event.id)! }));
}

function newDelivery(eventId: string, draft: CheckedDraft): NewDelivery {
  const id = uuidv7();
  return { id, eventId, draft, ordinal: null, recorded: { id, channel: draft.channel, state: 'deferred' } };
}
