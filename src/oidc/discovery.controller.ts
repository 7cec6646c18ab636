import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { signingAlgorithms } from 'nest-deliveries/backchannel-logout';
import { Issuer } from './issuer';
import type { PublicJwk } from './signing-keys';

@ApiTags('oidc')
@Controller('.well-known')
export class DiscoveryController {
  constructor(private readonly issuer: Issuer) {}

  @Get('jwks.json')
  @ApiOkResponse({ description: 'The keys that ID tokens and logout tokens are signed with (RFC 7517).' })
  jwks(): { keys: readonly PublicJwk[] } {
    return { keys: this.issuer.keys.published };
  }

  /** OpenID Connect Discovery 1.0, section 3, as far as there is something to discover. */
  @Get('openid-configuration')
  @ApiOkResponse({ description: 'What clients need to know.' })
  configuration(): Record<string, unknown> {
    const { name } = this.issuer;
    return {
      issuer: name,
      authorization_endpoint: `${name}/oidc/authorize`,
      token_endpoint: `${name}/oidc/token`,
      jwks_uri: `${name}/.well-known/jwks.json`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: signingAlgorithms,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    };
  }
}
