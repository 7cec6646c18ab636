import type { RuntimeChannels } from 'nest-deliveries';
import type { EntityManager } from 'typeorm';
import { WebhookNotFoundError } from '../errors';
import { checkTenant, requireId } from './check-endpoint';
import type { EndpointRow } from './endpoint-row';
import { lockEndpointSql } from './endpoint.sql';

/** An endpoint that is locked, and the database's clock, in ms since 1970. */
export type LockedRow = EndpointRow & { readonly now: number };

/** The table of endpoints. */
export class EndpointStore {
  readonly schema: string;

  constructor(private readonly channels: RuntimeChannels) {
    this.schema = channels.schema;
  }

  /**
   * Does something to one of a tenant's endpoints, which stays locked until that has committed.
   * @throws WebhookInputError, WebhookNotFoundError
   */
  change<T>(tenant: string, id: string, work: (row: LockedRow, tx: EntityManager) => Promise<T>): Promise<T> {
    checkTenant(tenant);
    return this.transaction(async (tx) => {
      const [row] = await tx.query<LockedRow[]>(lockEndpointSql(this.schema), [requireId(id), tenant]);
      if (!row) throw new WebhookNotFoundError(`endpoint ${id}`);
      return work(row, tx);
    });
  }

  /** A transaction of our own: none of its statements takes longer than ten seconds. */
  transaction<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    return this.channels.dataSource.transaction('READ COMMITTED', async (tx) => {
      await tx.query("SET LOCAL statement_timeout = '10s'");
      return work(tx);
    });
  }
}
