import type { DynamicModule, Type } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveriesModule, type DeliveriesOptions } from 'nest-deliveries';
import { DeliveriesTester, DeliveriesTestingModule } from 'nest-deliveries/testing';

export interface TestedApp {
  readonly module: TestingModule;
  readonly tester: DeliveriesTester;
}

/** An application like a user's, with the options of production, and the testing module beside it. */
export async function startTestedApp(
  url: string,
  channels: Type[],
  testing: Type | DynamicModule = DeliveriesTestingModule,
  options: DeliveriesOptions = {},
): Promise<TestedApp> {
  const module = await Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url, poolSize: 4, retryAttempts: 0 }),
      ScheduleModule.forRoot(),
      DeliveriesModule.forRoot({ metrics: false, ...options }),
      testing,
    ],
    providers: channels,
  }).compile();
  await module.init();
  return { module, tester: module.get(DeliveriesTester) };
}
