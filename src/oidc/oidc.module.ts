import { Module, type DynamicModule } from '@nestjs/common';
import { BackchannelLogoutModule } from 'nest-deliveries/backchannel-logout';
import { ClientsController } from './clients.controller';
import { CodesController } from './codes.controller';
import { DiscoveryController } from './discovery.controller';
import { Issuer } from './issuer';
import { loggedOutClients } from './logged-out-clients';

/** An OpenID provider as far as back-channel logout needs one: clients, codes, keys. */
@Module({})
export class OidcModule {
  static forRoot(issuer: Issuer): DynamicModule {
    return {
      module: OidcModule,
      imports: [
        BackchannelLogoutModule.forRoot({
          issuer: issuer.name,
          signingKey: () => issuer.keys.current,
          clientsOf: loggedOutClients,
        }),
      ],
      controllers: [ClientsController, CodesController, DiscoveryController],
      providers: [{ provide: Issuer, useValue: issuer }],
    };
  }
}
