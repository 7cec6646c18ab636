import {
  BadRequestException,
  Body,
  Controller,
  Header,
  HttpCode,
  Post,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiBody,
  ApiCreatedResponse,
  ApiOkResponse,
  ApiProperty,
  ApiTags,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { DataSource } from 'typeorm';
import { requiredText } from '../input/required-text';
import { tokenDigest } from '../links/link-tokens';
import { SessionGuard, SignedIn, type Session } from '../sessions/session.guard';
import { Issuer } from './issuer';

class Authorization {
  @ApiProperty({ example: 'shop' })
  clientId: string;

  @ApiProperty({ example: 'https://shop.example/callback' })
  redirectUri: string;
}

class AuthorizationCode {
  @ApiProperty({ description: 'For one use within a minute' })
  code: string;
}

/** Named as RFC 6749 names them, section 4.1.3. */
class TokenRequest {
  @ApiProperty()
  code: string;

  @ApiProperty({ example: 'shop' })
  client_id: string;

  @ApiProperty()
  client_secret: string;

  @ApiProperty({ example: 'https://shop.example/callback' })
  redirect_uri: string;
}

class Tokens {
  @ApiProperty()
  id_token: string;
}

interface SessionOfCode {
  readonly sub: string;
  readonly sid: string;
}

/** Authorization codes, as far as the story needs them: who is signed in consents, and the client redeems. */
@ApiTags('oidc')
@Controller('oidc')
export class CodesController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly issuer: Issuer,
  ) {}

  @Post('authorize')
  @ApiBearerAuth()
  @UseGuards(SessionGuard)
  @ApiBody({ type: Authorization })
  @ApiCreatedResponse({ type: AuthorizationCode })
  @ApiBadRequestResponse({ description: 'There is no such client, or it registered another address.' })
  async authorize(@SignedIn() { id }: Session, @Body() body: unknown): Promise<AuthorizationCode> {
    const given = body as Partial<Authorization> | undefined;
    const clientId = requiredText('clientId', given?.clientId, /^.{1,40}$/, 'the id of a client');
    const redirectUri = requiredText('redirectUri', given?.redirectUri, /^.{1,2000}$/, 'the registered address');
    const code = randomBytes(32).toString('base64url');
    const made = await this.dataSource.query<unknown[]>(
      `INSERT INTO authorization_codes (digest, client_id, session_id, redirect_uri, expires_at)
       SELECT $1, c.id, $2, c.redirect_uri, clock_timestamp() + interval '1 minute'
         FROM oidc_clients c WHERE c.id = $3 AND c.redirect_uri = $4
       RETURNING client_id`,
      [tokenDigest(code), id, clientId, redirectUri],
    );
    if (made.length === 0) throw new BadRequestException('No client of this id registered this redirectUri.');
    return { code };
  }

  @Post('token')
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  @ApiBody({ type: TokenRequest })
  @ApiOkResponse({ type: Tokens })
  @ApiUnauthorizedResponse({ description: 'The client’s secret is wrong.' })
  @ApiBadRequestResponse({ description: 'The code was used, has expired, or was given to somebody else.' })
  async redeem(@Body() body: unknown): Promise<Tokens> {
    const given = body as Partial<TokenRequest> | undefined;
    const text = (name: keyof TokenRequest): string => requiredText(name, given?.[name], /^.{1,2000}$/, 'a text');
    const clientId = text('client_id');
    await this.requireSecret(clientId, text('client_secret'));
    const session = await this.redeemed(tokenDigest(text('code')), clientId, text('redirect_uri'));
    if (!session) throw new BadRequestException('The code was used, has expired, or is not this client’s.');
    return { id_token: await this.issuer.idToken({ clientId, ...session }) };
  }

  /**
   * One statement, so that of two that redeem a code one does; the trigger on it notes that the client holds tokens. It locks the
   * session before the code, in the order of those who end sessions: either they wait and the client will hear of the end, or
   * there is no session any more.
   */
  private async redeemed(digest: Buffer, clientId: string, redirectUri: string): Promise<SessionOfCode | undefined> {
    const [[session]] = await this.dataSource.query<[SessionOfCode[], number]>(
      `WITH held AS MATERIALIZED (
         SELECT s.id, s.account_id FROM authorization_codes c JOIN sessions s ON s.id = c.session_id
          WHERE c.digest = $1 AND s.expires_at > now()
            FOR KEY SHARE OF s
       )
       UPDATE authorization_codes c SET redeemed_at = clock_timestamp() FROM held
        WHERE c.digest = $1 AND c.session_id = held.id AND c.client_id = $2 AND c.redirect_uri = $3
          AND c.redeemed_at IS NULL AND c.expires_at > now()
       RETURNING held.account_id AS sub, held.id AS sid`,
      [digest, clientId, redirectUri],
    );
    return session;
  }

  private async requireSecret(clientId: string, secret: string): Promise<void> {
    const [client] = await this.dataSource.query<{ secret_digest: Buffer }[]>(
      'SELECT secret_digest FROM oidc_clients WHERE id = $1',
      [clientId],
    );
    if (client && timingSafeEqual(client.secret_digest, tokenDigest(secret))) return;
    throw new UnauthorizedException('client_id or client_secret is wrong.');
  }
}
