import 'reflect-metadata';
import { Global, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { InjectCommander, type CommandRunner } from 'nest-commander';
import { DeliveriesModule } from 'nest-deliveries';
import { DeliveriesCommandModule, runCommands } from 'nest-deliveries/commands';
import { OutboundHttpModule } from 'nest-deliveries/outbound-http';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { ReplicaName } from './configuration';
import { databaseOptions } from './database';
import { PartnersModule } from './partners/partners.module';

/** Without DATABASE_URL, `pg` would take the server on the default port, whichever that is. */
class UnnamedDatabase extends DataSource {
  override initialize(): Promise<this> {
    return Promise.reject(new Error('DATABASE_URL is not set. "npm start" prints that of its own PostgreSQL.'));
  }
}

@Global()
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
    ScheduleModule.forRoot(),
    DeliveriesModule.forRoot(),
    DeliveriesCommandModule.forRoot(),
    // The channels: how long their deliveries are kept, and what may be done to them.
    OutboundHttpModule.forRoot({ isGlobal: true }),
    PartnersModule,
  ],
  providers: [{ provide: ReplicaName, useValue: new ReplicaName('command line') }],
  exports: [ReplicaName],
})
class CliModule {
  constructor(@InjectCommander() program: CommandRunner['command']) {
    program.name('deliveries').description('Look after the deliveries in the database that DATABASE_URL names.');
  }
}

void runCommands(CliModule);
