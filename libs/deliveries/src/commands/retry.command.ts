import { Command, type CommandRunner } from 'nest-commander';
import type { BulkReport } from '../operate/bulk/bulk-view';
import type { DeliveryOperations } from '../operate/delivery-operations';
import type { DeliveryConditions } from '../operate/match/conditions';
import { BulkCommand, type BulkPage } from './bulk-command';

/** `retry`: sends failed deliveries again. */
@Command({ name: 'retry', arguments: '[id]', description: 'Send a failed delivery again, or all that fit.' })
export class RetryCommand extends BulkCommand {
  protected readonly operation = 'retry';

  protected override describe(command: CommandRunner['command']): void {
    super.describe(command);
    command.option('--spread-over <duration>', 'for all that fit: make them due at random moments within this long');
    command.option('--restart-age-behind', 'the age of what waits behind it in its key restarts too');
  }

  protected async one(
    operations: DeliveryOperations,
    id: string,
    actor: string,
    options: Record<string, unknown>,
  ): Promise<{ done: object; words: string }> {
    const done = await operations.retry(id, { actor, restartAgeBehind: options.restartAgeBehind === true });
    return { done, words: `Retried: due ${done.dueAt.toISOString()}.` };
  }

  protected many(
    operations: DeliveryOperations,
    conditions: DeliveryConditions,
    page: BulkPage,
    options: Record<string, unknown>,
  ): Promise<BulkReport> {
    const spread = options.spreadOver === undefined ? {} : { spreadOver: options.spreadOver as never };
    return operations.retryMatching(conditions, {
      ...page,
      ...spread,
      restartAgeBehind: options.restartAgeBehind === true,
    });
  }
}
