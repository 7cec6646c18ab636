import { Module, type DynamicModule, type InjectionToken } from '@nestjs/common';
import { defaultSchema, quoteSchema } from 'nest-deliveries/migrations';
import { DataSource } from 'typeorm';
import { DeliveriesOptionsError } from '../errors';
import { commandDataSourceToken, commandSchemaToken } from './command-tokens';
import { MigrateCommand } from './migrate.command';

/** What `DeliveriesCommandModule.forRoot` takes: as for `DeliveriesModule`. */
export interface DeliveriesCommandOptions {
  /** PostgreSQL schema of the tables. Default `deliveries`. */
  readonly schema?: string;
  /** Injection token of the TypeORM `DataSource`. Default: the class `DataSource`. */
  readonly dataSource?: InjectionToken;
}

/**
 * The command line, for a host's own nest-commander program: import it beside `TypeOrmModule`, with `manualInitialization`
 * so that only a command that needs the database asks for it, and run that module with `CommandFactory`. It runs no worker.
 */
@Module({})
export class DeliveriesCommandModule {
  /** @throws DeliveriesOptionsError for a schema name that would need quoting */
  static forRoot({ schema = defaultSchema, dataSource = DataSource }: DeliveriesCommandOptions = {}): DynamicModule {
    try {
      quoteSchema(schema);
    } catch (error) {
      throw new DeliveriesOptionsError(`DeliveriesCommandModule: ${(error as Error).message}. Choose such a name.`);
    }
    return {
      module: DeliveriesCommandModule,
      providers: [
        { provide: commandSchemaToken, useValue: schema },
        { provide: commandDataSourceToken, useExisting: dataSource },
        MigrateCommand,
      ],
    };
  }
}
