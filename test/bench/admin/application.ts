import { Module, type CanActivate, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveriesModule, DeliveryChannel, succeeded, type Outcome } from 'nest-deliveries';
import type { AddressInfo } from 'node:net';
import { StderrLogger } from './stderr-logger';

/** Told of each delivery that is sent. */
let onSend: () => void = () => undefined;

export const listenToSends = (listener: () => void): void => {
  onSend = listener;
};

@DeliveryChannel({ name: 'bench', maxAge: '7d' })
class BenchChannel {
  deliveries(): [] {
    return [];
  }

  send(): Promise<Outcome> {
    onSend();
    return Promise.resolve(succeeded());
  }
}

@Module({})
class AdminBenchModule {}

const everybody: CanActivate = {
  canActivate(context) {
    context.switchToHttp().getRequest<{ user?: unknown }>().user = 'bench';
    return true;
  },
};

export interface ServedBench {
  /** Of the dashboard, with a slash at its end. */
  readonly url: string;
  close(): Promise<void>;
}

/** An application with the operators' routes. @param workers 0: nobody sends */
export async function serveBench(databaseUrl: string, workers: number): Promise<ServedBench> {
  const nest: INestApplication = await NestFactory.create(
    {
      module: AdminBenchModule,
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: databaseUrl }),
        ScheduleModule.forRoot(),
        DeliveriesModule.forRoot({
          workers,
          concurrency: 500,
          cleanUpInterval: false,
          admin: { guards: [everybody], canSeePayload: () => true },
        }),
      ],
      providers: [BenchChannel],
    },
    { logger: new StderrLogger({ logLevels: ['error', 'warn'] }), forceCloseConnections: true },
  );
  await nest.listen(0, '127.0.0.1');
  const { port } = nest.getHttpServer().address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/admin/deliveries/`, close: () => nest.close() };
}
