// One of the processes of BL-105: starts an application on each database that the test names, and says how that went.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveriesModule } from 'nest-deliveries';

/** How a start went. */
export type Started = 'up' | { readonly failed: string };

/** Starts as the process of an application does that migrates at its start. */
async function startOn(url: string): Promise<Started> {
  @Module({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url, retryAttempts: 0 }),
      ScheduleModule.forRoot(),
      DeliveriesModule.forRoot({ migrate: true }),
    ],
  })
  class Application {}
  try {
    const app = await NestFactory.createApplicationContext(Application, { logger: false, abortOnError: false });
    await app.close();
    return 'up';
  } catch (error) {
    return { failed: String(error) };
  }
}

process.on('message', (url: string) => void startOn(url).then((started) => process.send!(started)));
