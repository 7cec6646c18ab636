import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveriesModule } from 'nest-deliveries';
import { EmailModule } from 'nest-deliveries/email';
import { Account } from './account.entity';
import { messageKinds } from './message-kinds';
import { WelcomeEmailChannel } from './welcome-email.channel';

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Account] }),
    ScheduleModule.forRoot(),
    DeliveriesModule.forRoot(),
    EmailModule.forRoot({
      url: process.env.SMTP_URL,
      from: { name: 'Example', address: 'hello@example.com' },
      kinds: messageKinds,
    }),
  ],
  providers: [WelcomeEmailChannel],
})
export class AppModule {}
