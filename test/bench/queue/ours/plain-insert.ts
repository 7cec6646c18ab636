import { DataSource } from 'typeorm';
import { writeBusinessRow } from '../business';
import { monotonic, payload, type Contender } from '../contender';
import { startApplication } from './application';
import { idAt } from './besides';
import { ours } from './ours';

const insert = 'INSERT INTO plain (id, payload)';

/** What ours is measured against: the same transactions and rows, written by plain statements that know no queue. */
export const plainInsert: Contender = {
  ...ours,

  async recorder(url, clients) {
    const app = await startApplication(url, { workers: 0 }, { poolSize: clients });
    const dataSource = app.get(DataSource);
    return {
      record: (n, _client, deliveries = [{}]) =>
        dataSource.transaction('READ COMMITTED', async (tx) => {
          await writeBusinessRow(tx, n);
          const rows = deliveries.map((_, index) => JSON.stringify(payload(n + index)));
          if (rows.length === 1) await tx.query(`${insert} VALUES (gen_random_uuid(), $1::jsonb)`, rows);
          else await tx.query(`${insert} SELECT gen_random_uuid(), p::jsonb FROM unnest($1::text[]) p`, [rows]);
          return monotonic();
        }),
      close: () => app.close(),
    };
  },

  async fanOut(url) {
    const app = await startApplication(url, { workers: 0 });
    const dataSource = app.get(DataSource);
    return {
      async run() {
        await dataSource.query(
          `INSERT INTO deliveries.deliveries (id, event_id, channel, destination, recipient, payload, due_at, created_at)
           SELECT ${idAt('clock_timestamp()')}, $1::uuid, 'announcement', name, jsonb_build_object('accountId', id),
                  '{"announcementId": 1}', clock_timestamp(), clock_timestamp()
             FROM recipients`,
          ['01890000-0000-7000-8000-000000000001'],
        );
      },
      close: () => app.close(),
    };
  },
};
