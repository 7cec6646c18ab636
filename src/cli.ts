import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CommandFactory, InjectCommander, type CommandRunner } from 'nest-commander';
import { DeliveriesCommandModule, exitAfterUsage, reportFailure } from 'nest-deliveries/commands';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { databaseOptions } from './database';

/** Without DATABASE_URL, `pg` would take the server on the default port, whichever that is. */
class UnnamedDatabase extends DataSource {
  override initialize(): Promise<this> {
    return Promise.reject(new Error('DATABASE_URL is not set. "npm start" prints that of its own PostgreSQL.'));
  }
}

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      // A command that needs the database opens it: help, usage errors and --sql work without one.
      useFactory: () => ({ ...databaseOptions(process.env.DATABASE_URL), manualInitialization: true }),
      dataSourceFactory: async (options) =>
        process.env.DATABASE_URL
          ? new DataSource(options as DataSourceOptions)
          : new UnnamedDatabase(options as DataSourceOptions),
    }),
    DeliveriesCommandModule.forRoot(),
  ],
})
class CliModule {
  constructor(@InjectCommander() program: CommandRunner['command']) {
    program.name('deliveries').description('Look after the deliveries in the database that DATABASE_URL names.');
  }
}

// `deliveries migrate --sql | head`: who reads our output has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

CommandFactory.run(CliModule, {
  logger: false,
  abortOnError: false,
  errorHandler: exitAfterUsage,
  serviceErrorHandler: reportFailure,
}).catch(reportFailure);
