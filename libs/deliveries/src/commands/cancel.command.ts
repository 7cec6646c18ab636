import { Command } from 'nest-commander';
import type { BulkReport } from '../operate/bulk/bulk-view';
import type { DeliveryOperations } from '../operate/delivery-operations';
import type { DeliveryConditions } from '../operate/match/conditions';
import { BulkCommand, type BulkPage } from './bulk-command';

/** `cancel`: gives deliveries up. */
@Command({ name: 'cancel', arguments: '[id]', description: 'Give a pending or failed delivery up, or all that fit.' })
export class CancelCommand extends BulkCommand {
  protected readonly operation = 'cancel';

  protected async one(
    operations: DeliveryOperations,
    id: string,
    actor: string,
  ): Promise<{ done: object; words: string }> {
    const done = await operations.cancel(id, { actor });
    const flying = done.wasInFlight ? ' It was being sent, and may still arrive.' : '';
    return { done, words: `Cancelled: it was ${done.was}.${flying}` };
  }

  protected many(operations: DeliveryOperations, conditions: DeliveryConditions, page: BulkPage): Promise<BulkReport> {
    return operations.cancelMatching(conditions, page);
  }
}
