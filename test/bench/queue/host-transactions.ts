import { Pool, type PoolClient } from 'pg';
import { businessRow } from './business';
import { monotonic, type Kind, type Recorder } from './contender';

/** A process that records with a peer: a connection for each client, and the transaction in the hands of the caller. */
export async function hostTransactions(
  url: string,
  clients: number,
  record: (client: PoolClient, n: number, deliveries: readonly Kind[]) => Promise<unknown>,
): Promise<Recorder> {
  const pool = new Pool({ connectionString: url, max: clients });
  const connections = await Promise.all(Array.from({ length: clients }, () => pool.connect()));
  return {
    async record(n, lane, deliveries = [{}]) {
      const client = connections[lane]!;
      await client.query('BEGIN');
      await client.query(businessRow(n));
      await record(client, n, deliveries);
      const done = monotonic();
      await client.query('COMMIT');
      return done;
    },
    async close() {
      for (const client of connections) client.release();
      await pool.end();
    },
  };
}
