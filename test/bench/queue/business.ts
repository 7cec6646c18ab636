import type { PoolClient, QueryConfig } from 'pg';
import type { EntityManager } from 'typeorm';

/**
 * The caller's own change, in every contender's transaction: the same prepared statement for all, past TypeORM, which prepares none, so
 * that what differs is what recording adds.
 */
export const businessRow = (n: number): QueryConfig => ({
  name: 'business',
  text: 'INSERT INTO business (note) VALUES ($1)',
  values: [`note ${n}`],
});

/** The same on the connection of a TypeORM transaction. */
export async function writeBusinessRow({ queryRunner }: EntityManager, n: number): Promise<void> {
  const client = (await queryRunner!.connect()) as PoolClient;
  await client.query(businessRow(n));
}
