import type { QueryRunner } from 'typeorm';
import { DedupeConflictError, DedupeUnsettledError, DeliveriesError } from '../errors';
import { prepared, runPrepared } from '../database/host-connection';
import { takeOrdinalsSql } from '../order/ordinals.sql';
import type { CheckedDraft, CheckedEvent } from './check-draft';
import {
  dedupeHoldersSql,
  insertDedupedSql,
  insertOneSql,
  insertSql,
  neverInsertedSql,
  survivingEventsSql,
  takeBackSql,
} from './insert.sql';

/** What became of a draft. */
export interface RecordedDelivery {
  /** The delivery's id: of the new one, or of the one that held its dedupe key. */
  readonly id: string;
  readonly channel: string;
  /**
   * - `inserted`
   * - `duplicate`: a retained delivery has the same dedupe key and content; `id` is its id
   * - `deferred`: inside `recorder.transaction`, until just before the commit, where it becomes one of the other two
   */
  readonly state: 'inserted' | 'duplicate' | 'deferred';
}

export interface NewEvent extends CheckedEvent {
  readonly id: string;
  /** The deliveries that it causes. */
  readonly deliveryIds: readonly string[];
}

export interface NewDelivery {
  readonly id: string;
  readonly eventId: string;
  readonly draft: CheckedDraft;
  /** Taken when an ordered one is about to be inserted; null for an unordered one. */
  ordinal: string | null;
  /** What the caller was given; kept up to date. */
  readonly recorded: { -readonly [K in keyof RecordedDelivery]: RecordedDelivery[K] };
}

/**
 * A row that is in the way can vanish again and again only if somebody deletes as fast as we look. What is tried again comes
 * after keys that this call holds already, so such a clean-up is also what can leave a deadlock for PostgreSQL to end (40P01).
 */
const dedupeTries = 20;

/** Writes events and deliveries on the caller's own connection. */
export class DeliveryInserter {
  private readonly takeOrdinals: ReturnType<typeof prepared>;
  private readonly insert: ReturnType<typeof prepared>;
  private readonly insertOne: ReturnType<typeof prepared>;
  private readonly insertDeduped: string;
  private readonly dedupeHolders: string;
  private readonly survivingEvents: string;
  private readonly neverInserted: string;
  private readonly takeBackText: string;

  constructor(schema: string) {
    this.takeOrdinals = prepared('deliveries_ordinals', takeOrdinalsSql(schema));
    this.insert = prepared('deliveries_insert', insertSql(schema));
    this.insertOne = prepared('deliveries_insert_one', insertOneSql(schema));
    this.insertDeduped = insertDedupedSql(schema);
    this.dedupeHolders = dedupeHoldersSql(schema);
    this.survivingEvents = survivingEventsSql(schema);
    this.neverInserted = neverInsertedSql(schema);
    this.takeBackText = takeBackSql(schema);
  }

  /**
   * Takes what other transactions may hold: the ordinals of ordering keys, then dedupe keys, each in one order for
   * everybody. Deliveries with a dedupe key are inserted here; the others can follow with {@link insertPlain}.
   * @throws DedupeConflictError
   */
  async takeKeys(runner: QueryRunner, deliveries: NewDelivery[]): Promise<void> {
    const ordered = deliveries.filter(({ draft }) => draft.orderingKey !== null);
    if (ordered.length > 0) await this.giveOrdinals(runner, ordered);
    const once = deliveries.filter(({ draft }) => draft.dedupeKey !== null);
    if (once.length > 0) await this.insertOnce(runner, once);
  }

  /** Inserts events, and the deliveries that have no dedupe key. */
  async insertPlain(runner: QueryRunner, events: NewEvent[], deliveries: NewDelivery[]): Promise<void> {
    const plain = deliveries.filter(({ draft }) => draft.dedupeKey === null);
    if (events.length === 0 && plain.length === 0) return;
    if (events.length === 1 && plain.length === 1) await this.insertAlone(runner, events[0]!, plain[0]!);
    else {
      await runPrepared(runner, this.insert, [
        events.map((event) => event.id),
        events.map((event) => event.type),
        events.map((event) => event.payload),
        events.map((event) => event.actor),
        ...columns(plain),
        events.map((event) => `{${event.deliveryIds.join(',')}}`),
      ]);
    }
    for (const { recorded } of plain) recorded.state = 'inserted';
  }

  private async insertAlone(runner: QueryRunner, event: NewEvent, { id, draft, ordinal }: NewDelivery): Promise<void> {
    await runPrepared(runner, this.insertOne, [
      event.id,
      event.type,
      event.payload,
      event.actor,
      `{${event.deliveryIds.join(',')}}`,
      id,
      draft.channel,
      draft.destination,
      draft.recipient,
      draft.payload,
      draft.notBefore,
      draft.deadline,
      draft.orderingKey,
      ordinal,
      draft.lane,
    ]);
  }

  /**
   * Inserts deliveries that have a dedupe key, or finds the ones that hold their keys.
   * @throws DedupeConflictError for a key that is held with other content; nothing that it threw for was inserted
   */
  private async insertOnce(runner: QueryRunner, deliveries: NewDelivery[]): Promise<void> {
    let open = deliveries;
    try {
      for (let tries = 0; open.length > 0; tries += 1) {
        if (tries === dedupeTries) throw new DedupeUnsettledError(open[0]!.draft.channel, dedupeTries);
        open = await this.tryInsertOnce(runner, open);
      }
    } catch (error) {
      // After any other error the transaction is lost, and what was inserted with it.
      if (error instanceof DeliveriesError) await this.takeBack(runner, deliveries);
      throw error;
    }
  }

  /** The ordinals of a key go to its deliveries in the order in which they were recorded. */
  private async giveOrdinals(runner: QueryRunner, ordered: NewDelivery[]): Promise<void> {
    const keys = new Map<string, { channel: string; key: string; deliveries: NewDelivery[] }>();
    for (const delivery of ordered) {
      const { channel, orderingKey } = delivery.draft;
      const name = JSON.stringify([channel, orderingKey]);
      const entry = keys.get(name) ?? { channel, key: orderingKey!, deliveries: [] };
      entry.deliveries.push(delivery);
      keys.set(name, entry);
    }
    const taken = [...keys.values()];
    const rows = await runPrepared<OrdinalRow>(runner, this.takeOrdinals, [
      taken.map(({ channel }) => channel),
      taken.map(({ key }) => key),
      taken.map(({ deliveries }) => deliveries.length),
    ]);
    for (const row of rows) {
      const { deliveries } = keys.get(JSON.stringify([row.channel, row.ordering_key]))!;
      const first = BigInt(row.last_ordinal) - BigInt(deliveries.length - 1);
      deliveries.forEach((delivery, index) => (delivery.ordinal = String(first + BigInt(index))));
    }
  }

  async surviving(runner: QueryRunner, eventIds: string[]): Promise<Set<string>> {
    const rows = (await runner.query(this.survivingEvents, [eventIds])) as { id: string }[];
    return new Set(rows.map((row) => row.id));
  }

  /** Of several, some may be in before one is refused. */
  private async takeBack(runner: QueryRunner, deliveries: NewDelivery[]): Promise<void> {
    const inserted = deliveries.filter(({ recorded }) => recorded.state === 'inserted');
    if (inserted.length > 0) await runner.query(this.takeBackText, [inserted.map(({ id }) => id)]);
  }

  /** Tells clean-up of deliveries that their events, which are written already, name and that turned out to be duplicates. */
  async noteNeverInserted(runner: QueryRunner, deliveries: NewDelivery[]): Promise<void> {
    await runner.query(this.neverInserted, [[...new Set(deliveries.map(({ eventId }) => eventId))]]);
  }

  private async tryInsertOnce(runner: QueryRunner, deliveries: NewDelivery[]): Promise<NewDelivery[]> {
    const inserted = (await runner.query(this.insertDeduped, [
      ...columns(deliveries),
      deliveries.map(({ draft }) => draft.dedupeKey),
      deliveries.map(({ draft }) => draft.dedupeDigest),
    ])) as { id: string }[];
    const ids = new Set(inserted.map((row) => row.id));
    for (const { id, recorded } of deliveries) if (ids.has(id)) recorded.state = 'inserted';
    const refused = deliveries.filter(({ id }) => !ids.has(id));
    return refused.length > 0 ? this.findHolders(runner, refused) : [];
  }

  /** @returns the deliveries whose key nobody holds any more */
  private async findHolders(runner: QueryRunner, refused: NewDelivery[]): Promise<NewDelivery[]> {
    const holders = (await runner.query(this.dedupeHolders, [
      refused.map(({ id }) => id),
      refused.map(({ draft }) => draft.channel),
      refused.map(({ draft }) => draft.dedupeKey),
      refused.map(({ draft }) => draft.payload),
      refused.map(({ draft }) => draft.dedupeDigest),
    ])) as { draft_id: string; id: string; same: boolean }[];
    const holderOf = new Map(holders.map((holder) => [holder.draft_id, holder]));
    return refused.filter(({ id, draft, recorded }) => {
      const holder = holderOf.get(id);
      if (!holder) return true;
      if (!holder.same) throw new DedupeConflictError(draft.channel, draft.dedupeKey!, holder.id);
      Object.assign(recorded, { id: holder.id, state: 'duplicate' });
      return false;
    });
  }
}

interface OrdinalRow {
  readonly channel: string;
  readonly ordering_key: string;
  readonly last_ordinal: string;
}

function columns(deliveries: NewDelivery[]): unknown[] {
  return [
    deliveries.map(({ id }) => id),
    deliveries.map(({ eventId }) => eventId),
    deliveries.map(({ draft }) => draft.channel),
    deliveries.map(({ draft }) => draft.destination),
    deliveries.map(({ draft }) => draft.recipient),
    deliveries.map(({ draft }) => draft.payload),
    deliveries.map(({ draft }) => draft.notBefore),
    deliveries.map(({ draft }) => draft.deadline),
    deliveries.map(({ draft }) => draft.orderingKey),
    deliveries.map(({ ordinal }) => ordinal),
    deliveries.map(({ draft }) => draft.lane),
  ];
}
