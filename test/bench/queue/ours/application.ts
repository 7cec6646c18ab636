import { Module, type INestApplicationContext, type ModuleMetadata, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  DeliveriesModule,
  DeliveryChannel,
  retry,
  succeeded,
  type ChannelHandler,
  type DeliveriesOptions,
  type Delivery,
  type DeliveryDraft,
} from 'nest-deliveries';
import type { payload } from '../contender';
import { settings } from './settings';

type Payload = ReturnType<typeof payload>;

/** What a send does. @returns for how long the receiver asks to be left alone, in ms; nothing when it has taken it */
export type Send = (n: number) => void | number | Promise<void | number>;

let handle: Send = () => undefined;

export const sendThrough = (send: Send): void => {
  handle = send;
};

@DeliveryChannel({ name: 'bench', maxAge: '7d' })
export class BenchChannel {
  deliveries(): DeliveryDraft<Payload>[] {
    return [];
  }

  async send(delivery: Delivery<Payload>) {
    const quiet = await handle(delivery.payload.seq);
    return quiet ? retry(429, { retryAfter: quiet }) : succeeded();
  }
}

/** A draft for it. */
export interface BenchDraft extends DeliveryDraft<Payload> {
  readonly lane?: string;
}

export interface ApplicationOptions {
  readonly poolSize?: number;
  readonly channels?: readonly Type<ChannelHandler>[];
  /** Modules beside that of deliveries. */
  readonly imports?: NonNullable<ModuleMetadata['imports']>;
  readonly logSuccesses?: boolean;
}

@Module({})
class BenchModule {}

/**
 * The module as a user would run it: a Nest application with everything at its default, and a logger at the levels of production,
 * which leave `debug` out: the line of each attempt that succeeded.
 */
export function startApplication(
  url: string,
  options: DeliveriesOptions,
  { poolSize = 8, channels = [BenchChannel], imports = [], logSuccesses = false }: ApplicationOptions = {},
): Promise<INestApplicationContext> {
  const module = {
    module: BenchModule,
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url, poolSize }),
      ScheduleModule.forRoot(),
      DeliveriesModule.forRoot(options),
      ...imports,
    ],
    providers: [...channels],
  };
  return NestFactory.createApplicationContext(module, {
    logger: [...settings.levels, ...(logSuccesses ? (['debug'] as const) : [])],
  });
}
