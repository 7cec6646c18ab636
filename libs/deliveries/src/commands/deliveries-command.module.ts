import { Module, type DynamicModule, type InjectionToken } from '@nestjs/common';
import { defaultSchema, quoteSchema } from 'nest-deliveries/migrations';
import { DataSource } from 'typeorm';
import { DeliveriesOptionsError } from '../errors';
import { checkModuleName } from '../module-name';
import { refuseUnknown, requireToken } from '../option-rules';
import { CancelCommand } from './cancel.command';
import { CleanUpCommand } from './clean-up.command';
import { commandDataSourceToken, commandModuleToken, commandSchemaToken } from './command-tokens';
import { ListCommand } from './list.command';
import { MigrateCommand } from './migrate.command';
import { PauseCommand, ResumeCommand } from './pause.command';
import { RetryCommand } from './retry.command';
import { ShowCommand } from './show.command';
import { StatsCommand } from './stats.command';

/** What `DeliveriesCommandModule.forRoot` takes: as for `DeliveriesModule`. */
export interface DeliveriesCommandOptions {
  /** Name of the `DeliveriesModule`. Default: the one without a name. */
  readonly name?: string;
  /** PostgreSQL schema of the tables. Default `deliveries`. */
  readonly schema?: string;
  /** Injection token of the TypeORM `DataSource`. Default: the class `DataSource`. */
  readonly dataSource?: InjectionToken;
}

/**
 * The command line, for a program of the host's own: a module that imports this one beside `TypeOrmModule` (with
 * `manualInitialization`, so that only a command that needs the database asks for it), `DeliveriesModule` and the channels. Run
 * it with {@link runCommands}: no worker runs in that process. `migrate` needs neither `DeliveriesModule` nor channels.
 */
@Module({})
export class DeliveriesCommandModule {
  /** @throws DeliveriesOptionsError for an option that is unknown, or a schema name that would need quoting */
  static forRoot(options: DeliveriesCommandOptions = {}): DynamicModule {
    refuseUnknown('DeliveriesCommandModule', options, ['name', 'schema', 'dataSource']);
    const { name, schema = defaultSchema, dataSource = DataSource } = options;
    checkModuleName(name);
    requireToken('DeliveriesCommandModule', 'dataSource', dataSource);
    try {
      quoteSchema(schema);
    } catch (error) {
      throw new DeliveriesOptionsError(`DeliveriesCommandModule: ${(error as Error).message}`);
    }
    return {
      module: DeliveriesCommandModule,
      providers: [
        { provide: commandModuleToken, useValue: name },
        { provide: commandSchemaToken, useValue: schema },
        { provide: commandDataSourceToken, useExisting: dataSource },
        ListCommand,
        ShowCommand,
        RetryCommand,
        CancelCommand,
        StatsCommand,
        PauseCommand,
        ResumeCommand,
        CleanUpCommand,
        MigrateCommand,
      ],
    };
  }
}
