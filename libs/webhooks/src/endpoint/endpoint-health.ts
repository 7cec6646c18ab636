import { Logger } from '@nestjs/common';
import type { DeliveryRecorder, Outcome, RuntimeChannels } from 'nest-deliveries';
import type { EntityManager } from 'typeorm';
import type { DisabledReason, EndpointRow } from './endpoint-row';
import { disableEndpointSql, failingSql, recoveredSql, warnedSql } from './endpoint.sql';
import { disableAfter, judgeFailure } from './judge-failure';

/** Outcomes that say nothing about the endpoint: the reason was ours. */
const ours = new Set(['withdrawn', 'aborted', 'storage_key_missing', 'seal_broken']);

/** Keeps account of which endpoints take what is sent to them, and disables those that have not for days. */
export class EndpointHealth {
  private readonly logger = new Logger('Webhooks');

  constructor(
    private readonly channels: RuntimeChannels,
    private readonly recorder: DeliveryRecorder,
  ) {}

  /** Writes only when something changes. What goes wrong here is logged and changes nothing about the delivery. */
  async note(endpoint: EndpointRow, outcome: Outcome, now: number): Promise<void> {
    try {
      await this.write(endpoint, outcome, now);
    } catch (error) {
      const name = error instanceof Error ? error.constructor.name : typeof error;
      this.logger.warn(`Endpoint ${endpoint.id}: how it is doing could not be written down (${name}).`);
    }
  }

  private async write(endpoint: EndpointRow, outcome: Outcome, now: number): Promise<void> {
    const { schema } = this.channels;
    if (outcome.type === 'succeeded' || outcome.type === 'skipped') {
      if (endpoint.failing_since) await this.changed(recoveredSql(schema), [endpoint.id]);
      return;
    }
    if (ours.has(outcome.kind)) return;
    if (outcome.kind === '410') return this.disable(endpoint, 'gone');
    const judgement = judgeFailure(endpoint.failing_since, endpoint.warnings, now);
    switch (judgement.do) {
      case 'nothing':
        return;
      case 'note':
        await this.changed(failingSql(schema), [endpoint.id]);
        return;
      case 'warn':
        return this.warn(endpoint, judgement.warnings);
      case 'disable':
        return this.disable(endpoint, 'failing');
    }
  }

  private async warn(endpoint: EndpointRow, warnings: number): Promise<void> {
    const { id, tenant } = endpoint;
    const since = endpoint.failing_since!;
    await this.changed(warnedSql(this.channels.schema), [id, warnings], (tx) =>
      this.recorder.record(tx, {
        type: 'webhook_endpoint_failing',
        payload: {
          endpointId: id,
          tenant,
          failingSince: since.toISOString(),
          disabledFrom: new Date(since.getTime() + disableAfter).toISOString(),
        },
      }),
    );
  }

  private async disable({ id, tenant }: EndpointRow, reason: DisabledReason): Promise<void> {
    await this.changed(disableEndpointSql(this.channels.schema), [id, reason], (tx) =>
      this.recorder.record(tx, { type: 'webhook_endpoint_disabled', payload: { endpointId: id, tenant, reason } }),
    );
  }

  /** @param then in the same transaction, if the statement changed anything */
  private async changed(sql: string, values: unknown[], then?: (tx: EntityManager) => Promise<unknown>): Promise<void> {
    await this.channels.dataSource.transaction('READ COMMITTED', async (tx) => {
      await tx.query("SET LOCAL statement_timeout = '10s'");
      const [, count] = await tx.query<[unknown, number]>(sql, values);
      if (count > 0) await then?.(tx);
    });
  }
}
