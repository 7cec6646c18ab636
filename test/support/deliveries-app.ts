import type { ModuleMetadata, Type } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  AttemptTally,
  DeliveriesModule,
  DeliveryCleaner,
  DeliveryOperations,
  DeliveryRecorder,
  DeliveryWorkers,
  type DeliveriesOptions,
} from 'nest-deliveries';
import { DataSource } from 'typeorm';
import { CommitWatch } from '../../libs/deliveries/src/record/commit-watch';

/** A Nest application with the deliveries module and some channels, for tests. */
export interface DeliveriesApp {
  readonly module: TestingModule;
  readonly recorder: DeliveryRecorder;
  readonly dataSource: DataSource;
  readonly workers: DeliveryWorkers;
  readonly tally: AttemptTally;
  readonly operations: DeliveryOperations;
  readonly cleaner: DeliveryCleaner;
  close(): Promise<void>;
}

/** How fast things go in tests: a due delivery is found within 50 ms, and a retry is due within 100. */
export const testPace: DeliveriesOptions = {
  pollInterval: 50,
  sendTimeout: '1s',
  lease: '6s',
  retry: { first: 100, max: '5s' },
  shutdownGrace: '2s',
  // Nothing is counted in the background of a test that does not ask for it.
  metrics: false,
};

/** The module's options, and what only a test wants. */
export interface TestOptions extends DeliveriesOptions {
  /**
   * Whether a commit, a notification or the listener's return wakes workers. Default: unless `pollInterval` is `'1h'`, which
   * says that the test alone wakes them.
   */
  readonly wakeUps?: boolean;
  /** Modules beside the deliveries module. */
  readonly imports?: NonNullable<ModuleMetadata['imports']>;
}

/**
 * Starts an application on the database at `url`.
 * @param options over {@link testPace}; with `pollInterval: '1h'` nothing wakes the workers but the test: no commit, and no listener
 * that is connected at last, which looks everywhere at a moment that no test chooses
 */
export async function startDeliveriesApp(
  url: string,
  channels: Type[],
  { wakeUps, imports = [], ...options }: TestOptions = {},
  hostPoolSize = 10,
): Promise<DeliveriesApp> {
  const wakes = wakeUps ?? options.pollInterval !== '1h';
  const builder = Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url, poolSize: hostPoolSize, retryAttempts: 0 }),
      ScheduleModule.forRoot(),
      DeliveriesModule.forRoot({ ...testPace, listen: wakes, ...options }),
      ...imports,
    ],
    providers: channels,
  });
  // Who switches polls off decides when workers look; a commit must not do so either.
  if (!wakes) {
    builder
      .overrideProvider(CommitWatch)
      .useValue({ note: () => undefined, start: () => undefined, stop: () => undefined });
  }
  const module = await builder.compile();
  await module.init();
  return {
    module,
    recorder: module.get(DeliveryRecorder),
    dataSource: module.get(DataSource),
    workers: module.get(DeliveryWorkers),
    tally: module.get(AttemptTally),
    operations: module.get(DeliveryOperations),
    cleaner: module.get(DeliveryCleaner),
    close: () => module.close(),
  };
}
