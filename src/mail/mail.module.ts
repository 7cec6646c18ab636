import { Module } from '@nestjs/common';
import { AccountEmailChannel } from './account-email.channel';

/** What account holders are told by email. `EmailModule` comes beside it. */
@Module({ providers: [AccountEmailChannel] })
export class MailModule {}
