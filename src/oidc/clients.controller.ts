import {
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  Delete,
  Get,
  HttpCode,
  NotFoundException,
  Param,
  Post,
  Put,
  UseGuards,
} from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiBody,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiProperty,
  ApiTags,
} from '@nestjs/swagger';
import { OutboundHttp } from 'nest-deliveries/outbound-http';
import { randomBytes } from 'node:crypto';
import { DataSource } from 'typeorm';
import { violates } from '../database';
import { requiredText } from '../input/required-text';
import { tokenDigest } from '../links/link-tokens';
import { ProgramGuard } from '../operators/program.guard';

class NewClient {
  @ApiProperty({ example: 'shop', description: '1 to 40 of a-z, 0-9 and -' })
  id: string;

  @ApiProperty({ example: 'The shop', description: '1 to 80 characters' })
  name: string;

  @ApiProperty({ example: 'https://shop.example/callback' })
  redirectUri: string;

  @ApiProperty({ required: false, example: 'https://shop.example/logout', description: 'Where logout tokens go' })
  backchannelLogoutUri?: string;
}

class RegisteredClient extends NewClient {
  @ApiProperty({ required: false, description: 'Shown once: only its digest is stored' })
  secret?: string;
}

class LogoutUri {
  @ApiProperty({ nullable: true, type: String, description: 'null: it is told no more' })
  backchannelLogoutUri: string | null;
}

@ApiTags('oidc clients')
@ApiBearerAuth()
@UseGuards(ProgramGuard)
@Controller('admin/oidc-clients')
export class ClientsController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly http: OutboundHttp,
  ) {}

  @Post()
  @ApiBody({ type: NewClient })
  @ApiCreatedResponse({ type: RegisteredClient })
  @ApiBadRequestResponse({ description: 'Something is malformed, or nothing may be sent to the logout URI.' })
  @ApiConflictResponse({ description: 'The id is taken.' })
  async register(@Body() body: unknown): Promise<RegisteredClient> {
    const given = body as Partial<NewClient> | undefined;
    const id = requiredText('id', given?.id, /^[a-z0-9-]{1,40}$/, '1 to 40 of a-z, 0-9 and -');
    const name = requiredText('name', given?.name, /^[^\p{Cc}\p{Cs}]{1,80}$/u, '1 to 80 characters');
    const redirectUri = requiredText(
      'redirectUri',
      given?.redirectUri,
      /^https:\/\/[^\s#]{1,2000}$/,
      'an https address',
    );
    const logoutUri = given?.backchannelLogoutUri === undefined ? null : this.logoutUriOf(given.backchannelLogoutUri);
    const secret = randomBytes(32).toString('base64url');
    try {
      await this.dataSource.query(
        'INSERT INTO oidc_clients (id, name, redirect_uri, backchannel_logout_uri, secret_digest) VALUES ($1, $2, $3, $4, $5)',
        [id, name, redirectUri, logoutUri, tokenDigest(secret)],
      );
    } catch (error) {
      if (!violates(error, 'oidc_clients_pkey')) throw error;
      throw new ConflictException('A client of this id is registered already.');
    }
    return { id, name, redirectUri, ...(logoutUri !== null && { backchannelLogoutUri: logoutUri }), secret };
  }

  @Get()
  @ApiOkResponse({ type: [NewClient], description: 'The newest 100.' })
  list(): Promise<NewClient[]> {
    return this.dataSource.query<NewClient[]>(
      `SELECT id, name, redirect_uri AS "redirectUri", backchannel_logout_uri AS "backchannelLogoutUri"
         FROM oidc_clients ORDER BY created_at DESC LIMIT 100`,
    );
  }

  @Put(':id/backchannel-logout-uri')
  @HttpCode(204)
  @ApiBody({ type: LogoutUri })
  @ApiNoContentResponse({
    description: 'Sessions that end from now on are told there; what is under way goes where it was to go.',
  })
  @ApiNotFoundResponse({ description: 'There is no such client.' })
  async move(@Param('id') id: string, @Body() body: unknown): Promise<void> {
    const given = (body as Partial<LogoutUri> | undefined)?.backchannelLogoutUri;
    const uri = given === null ? null : this.logoutUriOf(given);
    await this.change('UPDATE oidc_clients SET backchannel_logout_uri = $2 WHERE id = $1', [id, uri]);
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiNoContentResponse({ description: 'It is gone; what is under way to it still arrives.' })
  @ApiNotFoundResponse({ description: 'There is no such client.' })
  async remove(@Param('id') id: string): Promise<void> {
    await this.change('DELETE FROM oidc_clients WHERE id = $1', [id]);
  }

  private async change(statement: string, parameters: unknown[]): Promise<void> {
    const [, changed] = await this.dataSource.query<[unknown, number]>(statement, parameters);
    if (changed === 0) throw new NotFoundException('There is no client of this id.');
  }

  /** What can be told without asking DNS; the rest is checked again whenever something is sent. */
  private logoutUriOf(value: unknown): string {
    const uri = requiredText('backchannelLogoutUri', value, /^https:\/\/./, 'an address that begins with https://');
    const verdict = this.http.checkDestination(uri);
    if (verdict.allowed) return uri;
    throw new BadRequestException(
      `backchannelLogoutUri must be a public HTTPS address; this one is refused: ${verdict.reason}.`,
    );
  }
}
