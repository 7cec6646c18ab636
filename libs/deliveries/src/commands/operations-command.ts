import { Injectable, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { CommandRunner } from 'nest-commander';
import type { DataSource } from 'typeorm';
import { DeliveryCleaner } from '../clean-up/delivery-cleaner';
import { requireCurrentSchema } from '../database/schema';
import { DatabaseUnreachableError, InvalidRequestError } from '../errors';
import { deliveriesToken } from '../module-name';
import { DeliveryOperations } from '../operate/delivery-operations';
import { commandDataSourceToken, commandModuleToken, commandSchemaToken } from './command-tokens';
import { exitAfterUsage, reasonOf, reportFailure } from './exit';

/** How long one answer of the database may take, in ms. Its own time limit for a read is 3 s; one that is frozen keeps none. */
const answerPatience = 6_000;

/** What the commands that work on deliveries have in common. */
@Injectable()
export abstract class OperationsCommand extends CommandRunner {
  constructor(private readonly modules: ModuleRef) {
    super();
  }

  /** The command's options. */
  protected abstract describe(command: CommandRunner['command']): void;

  /** The work itself. What it throws is one line on standard error, and the exit code. */
  protected abstract perform(given: string[], options: Record<string, unknown>): Promise<void>;

  override setCommand(command: CommandRunner['command']): this {
    command.exitOverride(exitAfterUsage).allowExcessArguments(false);
    command.option('--json', 'one JSON document in the place of a table');
    command.addHelpText('after', '\nExit codes: 0 done; 1 it failed, or was refused; 2 wrong usage.');
    this.describe(command);
    return super.setCommand(command);
  }

  override async run(given: string[]): Promise<void> {
    try {
      await this.perform(given, this.command.opts());
    } catch (error) {
      reportFailure(error);
    }
  }

  /** What operators do, with the database at hand. */
  protected async operations(): Promise<DeliveryOperations> {
    const operations = this.find(DeliveryOperations);
    await this.connect();
    return operations;
  }

  protected async cleaner(): Promise<DeliveryCleaner> {
    const cleaner = this.find(DeliveryCleaner);
    await this.connect();
    return cleaner;
  }

  /** An answer that does not come is an error: on a line that is frozen nothing else would end the wait. */
  protected async answer<T>(answer: Promise<T>, patience = answerPatience): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const error = new DatabaseUnreachableError(`PostgreSQL did not answer within ${patience / 1_000} s.`);
      timer = setTimeout(() => reject(error), patience);
    });
    return Promise.race([answer, late]).finally(() => clearTimeout(timer));
  }

  private async connect(): Promise<void> {
    const dataSource = this.modules.get<DataSource>(commandDataSourceToken, { strict: false });
    const schema = this.modules.get<string>(commandSchemaToken, { strict: false });
    const connected = async (): Promise<void> => {
      // With `manualInitialization` a command line asks for the database only when a command needs it.
      if (!dataSource.isInitialized) {
        await dataSource.initialize().catch((error: unknown) => {
          throw new DatabaseUnreachableError(`PostgreSQL cannot be reached: ${reasonOf(error)}`, { cause: error });
        });
      }
      await requireCurrentSchema(dataSource, schema);
    };
    await this.answer(connected());
  }

  private find<T>(type: Type<T>): T {
    const name = this.modules.get<string | undefined>(commandModuleToken, { strict: false });
    try {
      return this.modules.get<T>(deliveriesToken(type, name), { strict: false });
    } catch {
      throw new InvalidRequestError(
        this.command.name(),
        'needs DeliveriesModule and the channels: import them beside DeliveriesCommandModule',
      );
    }
  }
}
