import type { CommandRunner } from 'nest-commander';
import { InvalidRequestError } from '../errors';
import type { BulkReport } from '../operate/bulk/bulk-view';
import type { DeliveryOperations } from '../operate/delivery-operations';
import type { DeliveryConditions } from '../operate/match/conditions';
import { actorOf, actorOption, addConditions, readConditions } from './command-options';
import { exitCodes } from './exit';
import { OperationsCommand } from './operations-command';
import { print, printJson } from './output';

/** A call of a bulk operation ends after some 10 s; in ms. */
const bulkPatience = 20_000;

/** Where an operation goes on. */
export interface BulkPage {
  readonly actor: string;
  readonly asOf: Date;
  readonly after?: string;
}

/** `retry` and `cancel`: one delivery by its id, or all that fit. */
export abstract class BulkCommand extends OperationsCommand {
  protected abstract readonly operation: 'retry' | 'cancel';

  /** Does it to one, and says in words what that did. */
  protected abstract one(
    operations: DeliveryOperations,
    id: string,
    actor: string,
    options: Record<string, unknown>,
  ): Promise<{ done: object; words: string }>;

  protected abstract many(
    operations: DeliveryOperations,
    conditions: DeliveryConditions,
    page: BulkPage,
    options: Record<string, unknown>,
  ): Promise<BulkReport>;

  protected describe(command: CommandRunner['command']): void {
    addConditions(command);
    command.option('--dry-run', 'only say how many it would be');
    command.option(...actorOption);
  }

  protected async perform([id]: string[], options: Record<string, unknown>): Promise<void> {
    const conditions = readConditions(options);
    const many = Object.keys(conditions).length > 0;
    if (many === (id !== undefined)) {
      throw new InvalidRequestError(
        'id',
        `must be given, or else the options that say which deliveries to ${this.operation}`,
      );
    }
    if (id !== undefined && options.dryRun) throw new InvalidRequestError('dry-run', 'is for all that match');
    const operations = await this.operations();
    if (id === undefined) return this.all(operations, conditions, options);
    const { done, words } = await this.answer(this.one(operations, id, actorOf(options), options));
    if (options.json) printJson({ id, ...done });
    else print(`${words}\n`);
  }

  private async all(
    operations: DeliveryOperations,
    conditions: DeliveryConditions,
    options: Record<string, unknown>,
  ): Promise<void> {
    const { count, capped, asOf } = await this.answer(operations.countMatching(this.operation, conditions));
    const shown = `${capped ? 'more than ' : ''}${count}`;
    if (options.dryRun) {
      if (options.json) printJson({ count, capped, asOf });
      else print(`It would ${this.operation} ${shown} deliveries. Nothing was changed.\n`);
      return;
    }
    let changed = 0;
    let busy = 0;
    let after: string | undefined;
    do {
      const page: BulkPage = { actor: actorOf(options), asOf, ...(after === undefined ? {} : { after }) };
      const report = await this.answer(this.many(operations, conditions, page, options), bulkPatience);
      changed += report.changed;
      busy += report.busy;
      after = report.next;
      if (after !== undefined && process.stderr.isTTY) process.stderr.write(`${changed} of ${shown} ...\n`);
    } while (after !== undefined);
    if (options.json) printJson({ changed, busy });
    else print(`${this.operation === 'retry' ? 'Retried' : 'Cancelled'} ${changed} deliveries.\n`);
    if (busy === 0) return;
    process.stderr.write(`deliveries: ${busy} more were locked by somebody: run it again.\n`);
    process.exitCode = exitCodes.failed;
  }
}
