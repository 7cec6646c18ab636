import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveriesModule } from 'nest-deliveries';
import { Account } from './account.entity';
import { AccountsService } from './accounts.service';
import { OperatorsGuard } from './operators.guard';
import { WelcomeChannel } from './welcome.channel';

@Module({
  imports: [
    // synchronize makes the table of accounts, for a first try; DeliveriesModule makes its own tables in a schema of their own.
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Account], synchronize: true }),
    ScheduleModule.forRoot(),
    // The dashboard, at /admin/deliveries. Without a guard there are no routes.
    DeliveriesModule.forRoot({ admin: { guards: [OperatorsGuard] } }),
  ],
  providers: [WelcomeChannel, AccountsService],
})
export class AppModule {}
