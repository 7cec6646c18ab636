import type { ModuleMetadata } from '@nestjs/common';
import { WebhooksModule } from 'nest-deliveries/webhooks';
import type { Configuration } from '../configuration';
import { newSecrets } from '../secrets';
import { accountMessages } from './account-messages';
import { inboxKeys, webhookSecrets } from './webhook-secrets';
import { PartnerWebhooksModule } from './partner-webhooks.module';

/** Webhooks to partners, signed, and an inbox for those of another party. */
export function webhooks({
  secrets = newSecrets(),
  outboundHttp = {},
}: Configuration): NonNullable<ModuleMetadata['imports']> {
  const own = webhookSecrets(secrets);
  const { profile: _profile, timeout: _timeout, connectTimeout: _connectTimeout, ...http } = outboundHttp;
  return [
    WebhooksModule.forRoot({
      keyring: own.keyring,
      http,
      endpoints: { messages: accountMessages },
      receive: { partner: inboxKeys(own) },
    }),
    PartnerWebhooksModule.forRoot(own.inboxSecret),
  ];
}
