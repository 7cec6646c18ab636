import { Global, Module, type DynamicModule } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveriesModule } from 'nest-deliveries';
import { OutboundHttpModule } from 'nest-deliveries/outbound-http';
import { Registry } from 'prom-client';
import { accountService } from './account-service';
import { ReplicaName, type Configuration } from './configuration';
import { databaseOptions, openDatabase } from './database';
import { ObservabilityModule } from './observability/observability.module';
import { OperatorDoor } from './operators/program.guard';
import { operatorRoutes } from './operators/operator.guard';
import { PartnersModule } from './partners/partners.module';
import { StartPageController } from './start-page/start-page.controller';
import { webhooks } from './webhooks/webhooks';

@Global()
@Module({})
export class AppModule {
  static forRoot(configuration: Configuration): DynamicModule {
    const { databaseUrl, replica, operatorToken, deliveries, outboundHttp } = configuration;
    const registry = new Registry();
    return {
      module: AppModule,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: () => ({ ...databaseOptions(databaseUrl), retryAttempts: 3, retryDelay: 1_000 }),
          dataSourceFactory: openDatabase,
        }),
        ScheduleModule.forRoot(),
        // One command is to bring everything up, also with NODE_ENV=production, where `migrate` is off by default.
        DeliveriesModule.forRoot({
          migrate: true,
          metrics: { registry },
          ...(operatorToken && { admin: operatorRoutes(operatorToken) }),
          ...deliveries,
        }),
        OutboundHttpModule.forRoot({ isGlobal: true, ...outboundHttp }),
        ObservabilityModule.forRoot(registry),
        ...accountService(configuration),
        PartnersModule,
        ...webhooks(configuration),
      ],
      controllers: [StartPageController],
      providers: [
        { provide: ReplicaName, useValue: new ReplicaName(replica) },
        { provide: OperatorDoor, useValue: new OperatorDoor(operatorToken) },
      ],
      exports: [ReplicaName, OperatorDoor],
    };
  }
}
