import { Command, type CommandRunner } from 'nest-commander';
import type { DeliverySummary } from '../operate/delivery-view';
import { addConditions, readConditions, wholeNumber } from './command-options';
import { OperationsCommand } from './operations-command';
import { print, printJson, printTable } from './output';

/** `list`: deliveries that fit, newest first. */
@Command({ name: 'list', description: 'List deliveries, newest first.' })
export class ListCommand extends OperationsCommand {
  protected describe(command: CommandRunner['command']): void {
    addConditions(command);
    command.option('--limit <number>', 'at most so many, up to 100000', '100');
    command.option('--after <cursor>', 'the "next" of another list');
  }

  protected async perform(_given: string[], options: Record<string, unknown>): Promise<void> {
    const conditions = readConditions(options);
    const limit = wholeNumber('limit', options.limit, 100_000);
    const operations = await this.operations();
    const deliveries: DeliverySummary[] = [];
    let next = options.after as string | undefined;
    do {
      const page = {
        limit: Math.min(1_000, limit - deliveries.length),
        ...(next === undefined ? {} : { after: next }),
      };
      const found = await this.answer(operations.list({ ...conditions, ...page }));
      deliveries.push(...found.deliveries);
      next = found.next;
    } while (next !== undefined && deliveries.length < limit);
    if (options.json) return printJson({ deliveries, next });
    if (deliveries.length === 0) return print('No delivery fits.\n');
    printTable(
      ['CREATED', 'STATUS', 'CHANNEL', 'DESTINATION', 'KEY', 'ATTEMPTS', 'ERROR', 'DUE', 'ID'],
      deliveries.map((each) => [
        each.createdAt,
        each.inFlight ? 'in flight' : each.status,
        each.channel,
        each.destination,
        each.orderingKey,
        each.attempts,
        each.lastError,
        each.status === 'pending' ? each.dueAt : null,
        each.id,
      ]),
    );
    if (next !== undefined) print(`More with --after ${next}\n`);
  }
}
