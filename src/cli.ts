import 'reflect-metadata';
import { Global, Module, type Provider, type Type } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { InjectCommander, type CommandRunner } from 'nest-commander';
import { DeliveriesModule } from 'nest-deliveries';
import { BackchannelLogoutChannel } from 'nest-deliveries/backchannel-logout';
import { DeliveriesCommandModule, runCommands } from 'nest-deliveries/commands';
import { OutboundHttpModule } from 'nest-deliveries/outbound-http';
import { EndpointChannel } from 'nest-deliveries/webhooks';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { AnnouncementChannel } from './announcements/announcement.channel';
import { ReplicaName } from './configuration';
import { databaseOptions } from './database';
import { AccountEmailChannel } from './mail/account-email.channel';
import { PartnersModule } from './partners/partners.module';

/** Without DATABASE_URL, `pg` would take the server on the default port, whichever that is. */
class UnnamedDatabase extends DataSource {
  override initialize(): Promise<this> {
    return Promise.reject(new Error('DATABASE_URL is not set. "npm start" prints that of its own PostgreSQL.'));
  }
}

/**
 * A channel for commands, which ask how long its deliveries are kept and what may be done to them, and send none: without the keys and
 * the relay that sending needs.
 */
const known = (channel: Type): Provider => ({
  provide: channel,
  useValue: { deliveries: () => [], send: () => Promise.reject(new Error('A command sends nothing.')) },
});

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
    OutboundHttpModule.forRoot({ isGlobal: true }),
    PartnersModule,
  ],
  providers: [
    { provide: ReplicaName, useValue: new ReplicaName('command line') },
    ...[AccountEmailChannel, AnnouncementChannel, BackchannelLogoutChannel, EndpointChannel].map(known),
  ],
  exports: [ReplicaName],
})
class CliModule {
  constructor(@InjectCommander() program: CommandRunner['command']) {
    program.name('deliveries').description('Look after the deliveries in the database that DATABASE_URL names.');
  }
}

void runCommands(CliModule);
