import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TerminusModule } from '@nestjs/terminus';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { DeliveriesModule } from 'nest-deliveries';
import { Account } from '../../docs/readme/account.entity';
import { AccountsService } from '../../docs/readme/accounts.service';
import { WelcomeChannel } from '../../docs/readme/welcome.channel';
import { HealthController } from './health.controller';
import { OperatorGuard } from './operator.guard';

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Account], synchronize: true }),
    ScheduleModule.forRoot(),
    TerminusModule,
    PrometheusModule.register(),
    DeliveriesModule.forRoot({ admin: { guards: [OperatorGuard] } }),
  ],
  controllers: [HealthController],
  providers: [WelcomeChannel, AccountsService],
})
export class AppModule {}
