import type { Type } from '@nestjs/common';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { claimPathOf, type DueWork } from '../delivery/claim-path';
import type { DeliveryEvent } from '../delivery/delivery';
import type { DeliveryDraft } from '../delivery/draft';
import { DraftQuery } from '../delivery/draft-query';
import type { ChannelHandler } from '../channel/channel.decorator';
import type { ChannelRegistry } from '../channel/channel-registry';
import { DeliveriesError } from '../errors';
import { connectionOf, type Transaction } from '../database/caller-transaction';
import { isReadCommitted } from '../database/host-connection';
import { checkDraft, checkDraftList, checkEvent, type CheckedDraft, type CheckedEvent } from './check-draft';

import type { QueryInserter, QueryOfEvent } from './query-inserter';
import type { CommitWatch } from './commit-watch';
import type { DeliveryInserter, NewDelivery, NewEvent, RecordedDelivery } from './delivery-inserter';

/** The isolation levels of PostgreSQL, as TypeORM spells them. */
export type Isolation = 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';

/** What `record` wrote for one event. */
export interface RecordedEvent {
  readonly eventId: string;
  readonly deliveries: readonly RecordedDelivery[];
  /** How many more came from queries (`draftsFrom`), which are not listed. */
  readonly queried: number;
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
      const wanted = await this.fanOut(event, runner.manager);
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
    return this.inTransaction(options.isolation ?? 'READ COMMITTED', async (runner) => {
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

  /** As `dataSource.transaction` does; one question less where the isolation that is asked for is the default. */
  private async inTransaction<T>(isolation: Isolation, work: (runner: QueryRunner) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const isDefault =
        isolation === 'READ COMMITTED' &&
        this.dataSource.options.isolationLevel === undefined &&
        (await isReadCommitted(runner));
      await runner.startTransaction(isDefault ? undefined : isolation);
      const result = await work(runner);
      await runner.commitTransaction();
      return result;
    } catch (error) {
      // What matters is why it ended; a connection that is lost takes its transaction along.
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    } finally {
      await runner.release();
    }
  }

  /** Every channel is asked; what they want is checked at once, so that a refusal leaves nothing half-written. */
  private async fanOut(event: DeliveryEvent, tx: EntityManager): Promise<Wanted> {
    const drafts: CheckedDraft[] = [];
    const queries: Wanted['queries'] = [];
    for (const { name, handler } of this.channels.all()) {
      const wanted: unknown = await handler.deliveries(event, tx);
      if (wanted instanceof DraftQuery) queries.push({ channel: name, query: wanted });
      else for (const draft of checkDraftList(name, wanted)) drafts.push(checkDraft(name, draft));
    }
    return { drafts, queries };
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

/** The event of deliveries that were enqueued without one. */
const enqueued = (channel: string): CheckedEvent => ({
  type: 'delivery_enqueued',
  payload: JSON.stringify({ channel }),
  actor: null,
});

/** What the channels want of one event. */
interface Wanted {
  readonly drafts: CheckedDraft[];
  readonly queries: Omit<QueryOfEvent, 'eventId'>[];
}

/** What waits for a time of its own wakes nobody. */
const dueAtOnce = (deliveries: readonly NewDelivery[]): DueWork[] =>
  deliveries.flatMap(({ draft: { channel, orderingKey, lane, notBefore }, recorded }) =>
    notBefore === null && recorded.state !== 'duplicate'
      ? [{ channel, path: claimPathOf(orderingKey, lane), count: 1 }]
      : [],
  );

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
  const id = draft.id ?? uuidv7();
  return { id, eventId, draft, ordinal: null, recorded: { id, channel: draft.channel, state: 'deferred' } };
}
