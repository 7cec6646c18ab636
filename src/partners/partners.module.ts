import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PartnerNotificationChannel } from './partner-notification.channel';
import { Partner } from './partner.entity';
import { PartnersController } from './partners.controller';

@Module({
  imports: [TypeOrmModule.forFeature([Partner])],
  controllers: [PartnersController],
  providers: [PartnerNotificationChannel],
})
export class PartnersModule {}
