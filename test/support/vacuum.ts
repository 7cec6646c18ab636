import { until } from '../faults/support/facts';
import type { TestDatabase } from './test-database';

/**
 * Vacuums and analyzes a table until each page that holds rows is known to be visible to all, so that an index alone can answer.
 * A page is passed over while a snapshot anywhere in the database, such as that of an automatic ANALYZE, is older than its rows,
 * and while the commit of its rows is not on the disk.
 */
export async function vacuum(database: TestDatabase, table = 'deliveries.deliveries'): Promise<void> {
  await until(`all of ${table} is visible to all`, async () => {
    // Few dead rows would be left where they are, and with them their pages.
    await database.query(`VACUUM (ANALYZE, INDEX_CLEANUP ON) ${table}`);
    const [row] = await database.query<{ done: boolean }>(
      // A table's last pages may be there and still have nothing in them.
      `SELECT relallvisible >= (SELECT count(DISTINCT (ctid::text::point)[0]) FROM ${table}) AS done
         FROM pg_class WHERE oid = $1::regclass`,
      [table],
    );
    return row!.done;
  });
}
