import type { DataSource, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import type { DueWork } from '../delivery/claim-path';

/**
 * Hears when a transaction that recorded something has committed, however it was opened: through the recorder, through the
 * DataSource or with a QueryRunner. Only then is anything to be woken; a transaction that rolled back wakes nobody. One that
 * is ended with a COMMIT of the caller's own is not heard of, and its deliveries wait for a poll.
 */
export class CommitWatch implements EntitySubscriberInterface {
  private readonly recorded = new WeakMap<QueryRunner, Map<string, DueWork>>();

  /** @param onCommit called with what became due */
  constructor(
    private readonly dataSource: DataSource,
    private readonly onCommit: (work: readonly DueWork[]) => void,
  ) {}

  /** Once the DataSource is initialized, which makes its list of subscribers anew. */
  start(): void {
    this.dataSource.subscribers.push(this);
  }

  /** A DataSource may live longer than the module. */
  stop(): void {
    const place = this.dataSource.subscribers.indexOf(this);
    if (place >= 0) this.dataSource.subscribers.splice(place, 1);
  }

  /** Notes what the transaction on this connection will have made due. */
  note(runner: QueryRunner, due: readonly DueWork[]): void {
    let work = this.recorded.get(runner);
    if (!work) this.recorded.set(runner, (work = new Map()));
    for (const { channel, path, count } of due) {
      const key = `${channel} ${path}`;
      work.set(key, { channel, path, count: count + (work.get(key)?.count ?? 0) });
    }
  }

  afterTransactionCommit({ queryRunner }: { queryRunner: QueryRunner }): void {
    // A savepoint that is released reports a commit, too.
    if (queryRunner.isTransactionActive) return;
    const work = this.recorded.get(queryRunner);
    this.recorded.delete(queryRunner);
    if (work && work.size > 0) this.onCommit([...work.values()]);
  }

  afterTransactionRollback({ queryRunner }: { queryRunner: QueryRunner }): void {
    if (!queryRunner.isTransactionActive) this.recorded.delete(queryRunner);
  }
}
