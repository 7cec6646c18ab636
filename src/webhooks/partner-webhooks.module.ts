import { Module, type DynamicModule } from '@nestjs/common';
import { EndpointsController } from './endpoints.controller';
import { InboxController, InboxSecret } from './inbox.controller';

@Module({})
export class PartnerWebhooksModule {
  static forRoot(inboxSecret: string): DynamicModule {
    return {
      module: PartnerWebhooksModule,
      controllers: [EndpointsController, InboxController],
      providers: [{ provide: InboxSecret, useValue: new InboxSecret(inboxSecret) }],
    };
  }
}
