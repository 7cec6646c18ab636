import type { Type } from '@nestjs/common';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { ChannelRegistry } from '../channel/channel-registry';
import { connectionOf, type Transaction } from '../database/caller-transaction';
import type { DeliveryEvent } from '../delivery/delivery';
import type { DeliveryDraft } from '../delivery/draft';
import { DraftQuery } from '../delivery/draft-query';
import { DeliveriesError } from '../errors';
import { checkDraft, checkEvent } from './check-draft';
import type { CommitWatch } from './commit-watch';
import type { DeliveryInserter, NewDelivery, NewEvent, RecordedDelivery } from './delivery-inserter';
import type { AnyChannel, DraftOf } from './draft-of';
import { fanOut } from './fan-out';
import { dueAtOnce, enqueued, isKeyed, newDelivery, withDeliveryIds } from './new-delivery';
import { inOwnTransaction, type Isolation } from './own-transaction';
import type { QueryInserter, QueryOfEvent } from './query-inserter';

/** What `record` wrote for one event. */
export interface RecordedEvent {
  readonly eventId: string;
  readonly deliveries: readonly RecordedDelivery[];
  /** How many more came from queries (`draftsFrom`), which are not listed. */
  readonly queried: number;
}

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
    private readonly queries: QueryInserter,
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
    const queries: QueryOfEvent[] = [];
    for (const [index, event] of events.entries()) {
      const { id } = checked[index]!;
      const wanted = await fanOut(this.channels, event, runner.manager);
      caused.push(wanted.drafts.map((draft) => newDelivery(id, draft)));
      queries.push(...wanted.queries.map((query) => ({ eventId: id, ...query })));
    }
    await this.insert(runner, checked, caused.flat());
    const queried = await this.insertQueried(runner, checked, queries);
    const recorded = checked.map(({ id }, index) => ({
      eventId: id,
      deliveries: caused[index]!.map((d) => d.recorded),
      queried: queried.get(id) ?? 0,
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
  /** @returns how many deliveries the query made */
  enqueue<C extends AnyChannel>(tx: Transaction, channelClass: Type<C>, query: DraftQuery): Promise<number>;
  async enqueue<C extends AnyChannel>(
    tx: Transaction,
    channelClass: Type<C>,
    given: DraftOf<C> | readonly DraftOf<C>[] | DraftQuery,
  ): Promise<RecordedDelivery | RecordedDelivery[] | number> {
    const runner = connectionOf(tx, this.dataSource);
    const { name } = this.channels.of(channelClass);
    const event = { id: uuidv7(), ...enqueued(name) };
    if (given instanceof DraftQuery) {
      await this.insert(runner, [event], []);
      const queried = await this.insertQueried(runner, [event], [{ eventId: event.id, channel: name, query: given }]);
      if (!queried.has(event.id)) await this.queries.takeBack(runner, [event.id]);
      return queried.get(event.id) ?? 0;
    }
    const drafts = (Array.isArray(given) ? given : [given]) as readonly DeliveryDraft[];
    const deliveries = drafts.map((draft) => newDelivery(event.id, checkDraft(name, draft)));
    await this.insert(runner, [event], deliveries, { skipIdleEvent: true });
    const recorded = deliveries.map((delivery) => delivery.recorded);
    return Array.isArray(given) ? recorded : recorded[0]!;
  }

  /**
   * Writes one delivery of a channel that was opened at run time: at once, also inside {@link transaction}, so that the caller
   * learns whether it is new.
   * @throws as {@link enqueue}
   */
  async enqueueAtOnce(tx: Transaction, channel: string, draft: DeliveryDraft): Promise<RecordedDelivery> {
    const runner = connectionOf(tx, this.dataSource);
    const event = { id: uuidv7(), ...enqueued(channel) };
    const delivery = newDelivery(event.id, checkDraft(channel, draft));
    await this.insert(runner, [event], [delivery], { skipIdleEvent: true, atOnce: true });
    return delivery.recorded;
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
    return inOwnTransaction(this.dataSource, options.isolation ?? 'READ COMMITTED', async (runner) => {
      const waiting: NewDelivery[] = [];
      this.deferred.set(runner, waiting);
      let result: T;
      try {
        result = await work(runner.manager);
      } finally {
        // A record that nobody awaited may still come: it must not join a list that has been inserted already.
        this.deferred.delete(runner);
      }
      await this.insertDeferred(runner, waiting);
      return result;
    });
  }

  /**
   * A query says only when it runs what it produces, which is after its event was written: when it is refused, all of the call
   * is taken back.
   * @returns how many deliveries each event caused by queries, where it caused any
   */
  private async insertQueried(
    runner: QueryRunner,
    events: readonly { readonly id: string }[],
    queries: readonly QueryOfEvent[],
  ): Promise<Map<string, number>> {
    const inserted = new Map<string, number>();
    try {
      for (const each of queries) {
        const { count, due } = await this.queries.insert(runner, each);
        if (count > 0) inserted.set(each.eventId, count + (inserted.get(each.eventId) ?? 0));
        this.commits.note(runner, due);
      }
    } catch (error) {
      // After any other error the transaction is lost, and what was inserted with it.
      if (error instanceof DeliveriesError) {
        await this.queries.takeBack(
          runner,
          events.map(({ id }) => id),
        );
      }
      throw error;
    }
    return inserted;
  }

  /**
   * What can be refused comes first: when it is, nothing was written.
   * @param skipIdleEvent leave the event out when there is no delivery, or each turned out to be a duplicate
   * @param atOnce nothing waits for the commit
   */
  private async insert(
    runner: QueryRunner,
    events: Omit<NewEvent, 'deliveryIds'>[],
    deliveries: NewDelivery[],
    { skipIdleEvent = false, atOnce = false } = {},
  ): Promise<void> {
    const waiting = atOnce ? undefined : this.deferred.get(runner);
    const keyed = deliveries.filter(isKeyed);
    if (waiting) waiting.push(...keyed);
    else await this.inserter.takeKeys(runner, keyed);
    const ready = waiting ? deliveries.filter((delivery) => !isKeyed(delivery)) : deliveries;
    const idle = deliveries.every(({ recorded }) => recorded.state === 'duplicate');
    if (!(skipIdleEvent && idle)) await this.inserter.insertPlain(runner, withDeliveryIds(events, deliveries), ready);
    this.commits.note(runner, dueAtOnce(deliveries));
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
