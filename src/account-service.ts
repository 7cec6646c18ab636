import type { ModuleMetadata } from '@nestjs/common';
import { EmailModule } from 'nest-deliveries/email';
import { AccountsModule } from './accounts/accounts.module';
import { AddressesModule } from './addresses/addresses.module';
import { AnnouncementsModule } from './announcements/announcements.module';
import type { Configuration } from './configuration';
import { LinkTokens } from './links/link-tokens';
import { LinksModule } from './links/links.module';
import { PublicPages } from './links/public-pages';
import { MailModule } from './mail/mail.module';
import { messageKinds } from './mail/message-kinds';
import { NotificationsModule } from './notifications/notifications.module';
import { Issuer } from './oidc/issuer';
import { OidcModule } from './oidc/oidc.module';
import { SigningKeys } from './oidc/signing-keys';
import { PagesModule } from './pages/pages.module';
import { RecoveryModule } from './recovery/recovery.module';
import { newSecrets } from './secrets';
import { SessionsModule } from './sessions/sessions.module';

const nobody = { name: 'Reference application', address: 'accounts@localhost' };

/** The modules of the account service: accounts and how they are reached, sessions and who is told of their end. */
export function accountService({
  publicUrl = 'http://localhost:3000',
  secrets = newSecrets(),
  testLogin = false,
  operatorToken,
  email,
}: Configuration): NonNullable<ModuleMetadata['imports']> {
  return [
    LinksModule.forRoot(
      new LinkTokens(secrets.tokenDigestKeys),
      new PublicPages(publicUrl, operatorToken !== undefined),
    ),
    EmailModule.forRoot({
      from: nobody,
      // One for each slot of both channels: a slow relay that holds every announcement under way still has one for a link.
      connections: 40,
      ...email,
      kinds: messageKinds,
      channels: ['email', 'announcement'],
    }),
    SessionsModule.forRoot({ testLogin }),
    NotificationsModule,
    AddressesModule,
    AccountsModule,
    RecoveryModule,
    MailModule,
    AnnouncementsModule,
    OidcModule.forRoot(new Issuer(issuerOf(publicUrl), new SigningKeys(secrets.signingKeys))),
    PagesModule,
  ];
}

/** An issuer is an https address, also on a machine where nothing is served under one: tokens then name it, and nobody opens it. */
const issuerOf = (publicUrl: string): string =>
  publicUrl.startsWith('https:') ? publicUrl : publicUrl.replace(/^http:/, 'https:');
