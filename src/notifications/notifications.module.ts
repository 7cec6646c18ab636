import { Global, Module } from '@nestjs/common';
import { InboxController } from './inbox.controller';
import { Notifier } from './notifier';

/** Inboxes and preferences; and the one way to notify anybody, for whoever has something to say. */
@Global()
@Module({ controllers: [InboxController], providers: [Notifier], exports: [Notifier] })
export class NotificationsModule {}
