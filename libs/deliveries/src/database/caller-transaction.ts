import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { TransactionRequiredError } from '../errors';

/** What `record`, `purge` and their like take: whichever of the two the caller has in hand. */
export type Transaction = EntityManager | QueryRunner;

/**
 * The connection on which the caller's transaction runs.
 * @throws TransactionRequiredError when there is none, or when it belongs to another `DataSource`
 */
export function connectionOf(tx: Transaction, dataSource: DataSource): QueryRunner {
  // By shape, not by class: a host may have a second copy of TypeORM.
  const runner = isQueryRunner(tx) ? tx : (tx as Partial<EntityManager> | undefined)?.queryRunner;
  const advice =
    'Pass the EntityManager that dataSource.transaction(async (tx) => …) or recorder.transaction(async (tx) => …) hands you, or a ' +
    'QueryRunner after startTransaction().';
  if (!runner?.isTransactionActive || runner.isReleased) {
    throw new TransactionRequiredError(
      `This belongs in the transaction of your own change, and this manager is in none. ${advice}`,
    );
  }
  if (runner.dataSource !== dataSource) {
    throw new TransactionRequiredError(
      `This transaction belongs to another DataSource than the one that DeliveriesModule works with. ${advice} Use a DeliveriesModule of its own, with its option dataSource, for each DataSource.`,
    );
  }
  return runner;
}

const isQueryRunner = (tx: Transaction): tx is QueryRunner =>
  typeof (tx as Partial<QueryRunner> | undefined)?.startTransaction === 'function';
