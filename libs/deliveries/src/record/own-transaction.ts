import type { DataSource, QueryRunner } from 'typeorm';
import { isReadCommitted } from '../database/host-connection';

/** The isolation levels of PostgreSQL, as TypeORM spells them. */
export type Isolation = 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';

/** As `dataSource.transaction` does; one question less where the isolation that is asked for is the default. */
export async function inOwnTransaction<T>(
  dataSource: DataSource,
  isolation: Isolation,
  work: (runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  try {
    const isDefault =
      isolation === 'READ COMMITTED' &&
      dataSource.options.isolationLevel === undefined &&
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
