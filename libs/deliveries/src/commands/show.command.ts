import { Command, type CommandRunner } from 'nest-commander';
import { withoutPayload } from '../operate/admin/hide-payload';
import type { DeliveryDetail, EventView } from '../operate/delivery-view';
import { OperationsCommand } from './operations-command';
import { print, printFields, printJson, printTable } from './output';

/** `show`: all that is known of a delivery. */
@Command({ name: 'show', arguments: '<id>', description: 'Show a delivery, its attempts, and what it waits for.' })
export class ShowCommand extends OperationsCommand {
  protected describe(command: CommandRunner['command']): void {
    command.option('--payload', 'with payload and recipient, which may be about a person');
  }

  protected async perform([id]: string[], options: Record<string, unknown>): Promise<void> {
    const operations = await this.operations();
    const found = await this.answer(operations.show(id!));
    const delivery = options.payload ? found : withoutPayload(found);
    if (options.json) return printJson(delivery);
    printFields(fieldsOf(delivery, options.payload === true));
    if (delivery.attemptRows.length > 0) {
      print('\n');
      printTable(
        ['ATTEMPT', 'OUTCOME', 'ERROR', 'STARTED', 'ENDED'],
        delivery.attemptRows.map((each) => [each.number, each.outcome, each.error, each.startedAt, each.endedAt]),
      );
    }
    if (delivery.operations.length > 0) {
      print('\n');
      printTable(['OPERATION', 'ACTOR', 'AT'], delivery.operations.map(operationOf));
    }
  }
}

const operationOf = ({ type, actor, occurredAt }: EventView): unknown[] => [type, actor, occurredAt];

function fieldsOf(delivery: DeliveryDetail, withPayload: boolean): [string, unknown][] {
  const { blockedBy, event } = delivery;
  const always: [string, unknown][] = [
    ['id', delivery.id],
    ['status', delivery.inFlight ? 'pending, in flight' : delivery.status],
    ['channel', delivery.channel],
    ['destination', delivery.destination],
    ['lane', delivery.lane],
    ['ordering key', delivery.orderingKey],
    ['blocked by', blockedBy && `${blockedBy.id} (${blockedBy.status}, ${blockedBy.lastError ?? 'no error yet'})`],
    ['attempts', delivery.attempts],
    ['last error', delivery.lastError],
    ['created', delivery.createdAt],
    ['due', delivery.status === 'pending' ? delivery.dueAt : null],
    ['retried', delivery.retriedAt],
    ['ended', delivery.settledAt],
    ['deadline', delivery.deadline],
    ['event', event && `${event.type} ${event.id}`],
  ];
  return withPayload ? [...always, ['recipient', delivery.recipient], ['payload', delivery.payload]] : always;
}
