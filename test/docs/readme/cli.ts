import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveriesModule } from 'nest-deliveries';
import { DeliveriesCommandModule, runCommands } from 'nest-deliveries/commands';
import { WelcomeChannel } from './welcome.channel';

@Module({
  imports: [
    // A command that needs the database opens it: --help and --sql work without one.
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL,
      manualInitialization: true,
      connectTimeoutMS: 5_000,
    }),
    ScheduleModule.forRoot(),
    DeliveriesModule.forRoot(),
    DeliveriesCommandModule.forRoot(),
  ],
  providers: [WelcomeChannel],
})
class CliModule {}

void runCommands(CliModule);
