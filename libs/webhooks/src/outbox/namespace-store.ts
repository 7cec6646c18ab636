import type { RuntimeChannels, Transaction } from 'nest-deliveries';
import type { EntityManager, QueryRunner } from 'typeorm';
import { WebhookBusyError, WebhookConfigurationError } from '../errors';
import type { Sealed } from '../seal/keyring';
import {
  belongsSql,
  failedSql,
  giveBackPlaceSql,
  holderSql,
  insertNamespaceSql,
  isPastWindowSql,
  lockNamespaceSql,
  purgeTerminalSql,
  recountSql,
  resealSql,
  takePlaceSql,
} from './namespace.sql';

/** A failed event as it is stored. */
export interface FailedRow {
  readonly id: string;
  readonly payload: unknown;
  readonly attempts: number;
  readonly last_error: string;
  readonly settled_at: Date;
}

/** The tables of one namespace. */
export class NamespaceStore {
  private readonly schema: string;

  constructor(
    private readonly channels: RuntimeChannels,
    private readonly namespace: string,
    readonly channel: string,
  ) {
    this.schema = channels.schema;
  }

  /** @throws TransactionRequiredError */
  connectionOf(tx: Transaction): QueryRunner {
    return this.channels.connectionOf(tx);
  }

  /**
   * Locks the control record, writing it first if there is none.
   * @param first what to write
   * @param check throws when what is there is not right; otherwise gives what to write in its place, if anything
   */
  open(first: Sealed, check: (control: Sealed) => Sealed | undefined): Promise<void> {
    return this.transaction(async (tx) => {
      await tx.query(insertNamespaceSql(this.schema), [this.namespace, JSON.stringify(first)]);
      const [row] = await tx.query<{ control: Sealed }[]>(lockNamespaceSql(this.schema), [this.namespace]);
      const next = check(row!.control);
      if (next) await tx.query(resealSql(this.schema), [this.namespace, JSON.stringify(next)]);
    });
  }

  /**
   * Takes a place for one event in the caller's transaction.
   * @returns how many events there are with it, and the database's clock in ms since 1970
   * @throws WebhookBusyError, WebhookConfigurationError: the transaction stays usable
   */
  async takePlace(runner: QueryRunner): Promise<{ place: number; now: number }> {
    const [row] = await rows<{ place: number | null; now: number }>(runner, takePlaceSql(this.schema), [
      this.namespace,
    ]);
    const { place, now } = row!;
    if (place === -1) throw new WebhookBusyError(this.namespace);
    if (place !== null) return { place, now };
    throw new WebhookConfigurationError(
      `The control record of namespace "${this.namespace}" is gone. Nothing was recorded; close the outbox and open it again.`,
    );
  }

  async giveBackPlace(runner: QueryRunner): Promise<void> {
    await runner.query(giveBackPlaceSql(this.schema), [this.namespace]);
  }

  /** How many events there really are, with the one whose place was taken. */
  async recount(runner: QueryRunner): Promise<number> {
    const { records } = await runner.query(recountSql(this.schema), [this.namespace, this.channel], true);
    return (records as [{ retained: number }])[0].retained;
  }

  async holderOf(
    runner: QueryRunner,
    key: string,
    content: string,
  ): Promise<{ id: string; same: boolean } | undefined> {
    const [row] = await rows<{ id: string; same: boolean }>(runner, holderSql(this.schema), [
      this.channel,
      key,
      content,
    ]);
    return row;
  }

  async has(deliveryId: string): Promise<boolean> {
    return this.transaction(async (tx) => {
      const found = await tx.query<unknown[]>(belongsSql(this.schema), [deliveryId, this.channel]);
      return found.length === 1;
    });
  }

  failed(limit: number): Promise<FailedRow[]> {
    return this.transaction((tx) => tx.query<FailedRow[]>(failedSql(this.schema), [this.channel, limit]));
  }

  /** @returns how many were deleted; undefined when `before` is not a window old */
  purgeTerminal(before: Date, limit: number, window: number): Promise<number | undefined> {
    return this.transaction(async (tx) => {
      const [{ past }] = await tx.query<[{ past: boolean }]>(isPastWindowSql, [before, window]);
      if (!past) return undefined;
      // Before the rows: whoever enqueues locks in the same order.
      await tx.query(lockNamespaceSql(this.schema), [this.namespace]);
      const values = [this.channel, before, limit, this.namespace];
      const [{ count }] = await tx.query<[{ count: number }]>(purgeTerminalSql(this.schema), values);
      return count;
    });
  }

  /** A transaction of our own: none of its statements takes longer than ten seconds. */
  private transaction<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    return this.channels.dataSource.transaction('READ COMMITTED', async (tx) => {
      await tx.query("SET LOCAL statement_timeout = '10s'");
      return work(tx);
    });
  }
}

const rows = async <Row>(runner: QueryRunner, sql: string, values: unknown[]): Promise<Row[]> =>
  (await runner.query(sql, values)) as Row[];
