import type { CanActivate, ExecutionContext, INestApplication, NestInterceptor } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  DeliveriesModule,
  DeliveryOperations,
  DeliveryRecorder,
  type DeliveriesOptions,
  type DeliveryDraft,
} from 'nest-deliveries';
import type { AddressInfo } from 'node:net';
import { map } from 'rxjs';
import { testPace } from '../../support/deliveries-app';
import { LettersChannel, ParcelsChannel, type Letter } from './channels';

/** Lets in whoever the cookie `operator` names, and says so in `request.user` as an application's guard would. */
class OperatorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: { cookie?: string }; user?: unknown }>();
    const name = /(?:^|; )operator=([^;]+)/.exec(request.headers.cookie ?? '')?.[1];
    request.user = { name };
    return name !== undefined;
  }
}

/** As many applications have one: it wraps whatever a handler returns. */
const envelope: NestInterceptor = {
  intercept: (_context, next) => next.handle().pipe(map((data: unknown) => ({ data }))),
};

/** An application with the dashboard, as somebody would build it. */
export interface DashboardApp {
  readonly nest: INestApplication;
  /** The dashboard's own address, with a slash at its end. */
  readonly url: string;
  readonly operations: DeliveryOperations;
  readonly letters: LettersChannel;
  readonly parcels: ParcelsChannel;
  /** Records an event that causes these deliveries. @returns their ids */
  record(channel: 'letters' | 'parcels', drafts: Partial<DeliveryDraft<Letter>>[], actor?: string): Promise<string[]>;
  close(): Promise<void>;
}

export interface DashboardAppOptions {
  readonly platform?: 'express' | 'fastify';
  readonly prefix?: string;
  readonly deliveries?: DeliveriesOptions;
}

export async function startDashboardApp(databaseUrl: string, options: DashboardAppOptions = {}): Promise<DashboardApp> {
  const module = await Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: databaseUrl, retryAttempts: 0, connectTimeoutMS: 2_000 }),
      ScheduleModule.forRoot(),
      DeliveriesModule.forRoot({
        ...testPace,
        admin: {
          guards: [OperatorGuard],
          canSeePayload: ({ user }: { user: { name: string } }) => user.name === 'grace',
        },
        ...options.deliveries,
      }),
    ],
    providers: [LettersChannel, ParcelsChannel],
  }).compile();
  const nest =
    options.platform === 'fastify'
      ? module.createNestApplication(new FastifyAdapter(), { forceCloseConnections: true })
      : module.createNestApplication({ forceCloseConnections: true });
  nest.useGlobalInterceptors(envelope);
  if (options.prefix) nest.setGlobalPrefix(options.prefix);
  await nest.listen(0, '127.0.0.1');
  const { port } = nest.getHttpServer().address() as AddressInfo;
  const recorder = nest.get(DeliveryRecorder);
  return {
    nest,
    url: `http://localhost:${port}/${options.prefix ? `${options.prefix}/` : ''}admin/deliveries/`,
    operations: nest.get(DeliveryOperations),
    letters: nest.get(LettersChannel),
    parcels: nest.get(ParcelsChannel),
    record: async (channel, drafts, actor = 'ada') => {
      const payload = drafts.map((draft) => ({ destination: 'Ada', payload: { text: 'Hello' }, ...draft }));
      const event = { type: `${channel}_written`, payload, actor };
      const { deliveries } = await recorder.transaction((tx) => recorder.record(tx, event));
      return deliveries.map(({ id }) => id);
    },
    close: () => nest.close(),
  };
}
