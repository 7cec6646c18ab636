import { InvalidRequestError, milliseconds, type Duration } from 'nest-deliveries';
import type { DataSource } from 'typeorm';

interface TimeColumns {
  readonly table: string;
  readonly columns: string[];
}

/**
 * Lets time pass for the queue by moving its rows into the past: when they were recorded, are due, expire, were leased, paused
 * and settled. Every age and due time is then as it would be later, for all processes, while the clocks of the machine, of
 * PostgreSQL and of timers stay as they are. Tables of the host are not touched.
 */
export class TestClock {
  /** @param quotedSchema of the queue’s tables */
  constructor(
    private readonly dataSource: DataSource,
    private readonly quotedSchema: string,
  ) {}

  /**
   * @param by milliseconds, or a string such as `'1h'`
   * @throws InvalidRequestError when it is not a positive duration
   */
  async advance(by: Duration): Promise<void> {
    const ms = positive('by', by);
    await this.dataSource.transaction('READ COMMITTED', async (tx) => {
      for (const { table, columns } of await this.timeColumns()) {
        const moved = columns.map((column) => `"${column}" = "${column}" - $1::float8 * interval '1 ms'`).join(', ');
        await tx.query(`UPDATE ${this.quotedSchema}."${table}" SET ${moved}`, [ms]);
      }
    });
  }

  /**
   * How long it is, in ms, until something can go on that waits for its time: a delivery that becomes due, a pause or a lease
   * that ends. Undefined when nothing is pending that waits.
   */
  async untilNext(): Promise<number | undefined> {
    const [next] = await this.dataSource.query<{ ms: number | null }[]>(
      `SELECT ceil(extract(epoch FROM min(moment) - clock_timestamp()) * 1000)::float8 AS ms
         FROM (SELECT due_at AS moment FROM ${this.quotedSchema}.deliveries WHERE status = 'pending'
               UNION ALL SELECT lease_expires_at FROM ${this.quotedSchema}.deliveries WHERE ordering_key IS NOT NULL
               UNION ALL SELECT until FROM ${this.quotedSchema}.delivery_pauses) AS moments
        WHERE moment > clock_timestamp() AND EXISTS (SELECT FROM ${this.quotedSchema}.deliveries WHERE status = 'pending')`,
    );
    return next?.ms == null ? undefined : Math.max(1, next.ms);
  }

  /**
   * Of every table of the schema, so that those of libraries beside the queue are moved along. The catalogue answers in a tenth of the
   * time of information_schema's views, and a drain asks with each step.
   */
  private async timeColumns(): Promise<TimeColumns[]> {
    return this.dataSource.query<TimeColumns[]>(
      `SELECT t.relname AS "table", array_agg(c.attname::text) AS columns
         FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid
        WHERE t.relnamespace = to_regnamespace($1) AND t.relkind = 'r'
          AND c.atttypid = 'timestamptz'::regtype AND NOT c.attisdropped
        GROUP BY t.relname ORDER BY t.relname`,
      [this.quotedSchema],
    );
  }
}

/** @throws InvalidRequestError that names the argument */
export function positive(argument: string, duration: Duration): number {
  const ms = milliseconds(duration);
  if (ms !== undefined && ms > 0) return ms;
  const got = typeof duration === 'string' ? JSON.stringify(duration) : String(duration);
  throw new InvalidRequestError(
    argument,
    `must be a time above 0, in milliseconds or as a string such as '1h'; got ${got}`,
  );
}
