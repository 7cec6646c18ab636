import { Module } from '@nestjs/common';
import { AnnouncementChannel } from './announcement.channel';
import { AnnouncementsController } from './announcements.controller';
import { AnnouncementsService } from './announcements.service';
import { UnsubscribeController } from './unsubscribe.controller';

@Module({
  controllers: [AnnouncementsController, UnsubscribeController],
  providers: [AnnouncementsService, AnnouncementChannel],
})
export class AnnouncementsModule {}
