import { Body, Controller, Delete, Get, HttpCode, Param, ParseUUIDPipe, Post, Put, UseGuards } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiBody,
  ApiConflictResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiProperty,
  ApiTags,
} from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { requiredEmail } from '../input/required-email';
import { SessionGuard, SignedIn, type Session } from '../sessions/session.guard';
import { AddressesService } from './addresses.service';

class NewAddress {
  @ApiProperty({ example: 'ada@example.com' })
  email: string;
}

class AddressId {
  @ApiProperty({ format: 'uuid' })
  id: string;
}

class OwnAddress extends AddressId {
  @ApiProperty({ example: 'ada@example.com' })
  email: string;

  @ApiProperty()
  primary: boolean;

  @ApiProperty()
  verified: boolean;
}

@ApiTags('addresses')
@ApiBearerAuth()
@UseGuards(SessionGuard)
@Controller('account/addresses')
export class AddressesController {
  constructor(
    private readonly addresses: AddressesService,
    private readonly dataSource: DataSource,
  ) {}

  @Get()
  @ApiOkResponse({ type: [OwnAddress] })
  list(@SignedIn() { accountId }: Session): Promise<OwnAddress[]> {
    return this.dataSource.query<OwnAddress[]>(
      `SELECT id, email, is_primary AS "primary", verified_at IS NOT NULL AS verified
         FROM addresses WHERE account_id = $1 ORDER BY created_at, id`,
      [accountId],
    );
  }

  @Post()
  @HttpCode(202)
  @ApiBody({ type: NewAddress })
  @ApiAcceptedResponse({ type: AddressId, description: 'A link is on its way to it.' })
  @ApiBadRequestResponse({ description: 'It is not one address.' })
  @ApiConflictResponse({ description: 'You have it already.' })
  async add(@SignedIn() { accountId }: Session, @Body() body: unknown): Promise<AddressId> {
    return { id: await this.addresses.add(accountId, emailOf(body)) };
  }

  @Put(':id')
  @HttpCode(202)
  @ApiBody({ type: NewAddress })
  @ApiAcceptedResponse({
    type: AddressId,
    description: 'The new address. A verified one stays until its successor is verified.',
  })
  @ApiBadRequestResponse({ description: 'It is not one address.' })
  @ApiNotFoundResponse({ description: 'You have no such address.' })
  @ApiConflictResponse({ description: 'You have the new one already.' })
  async replace(
    @SignedIn() { accountId }: Session,
    @Param('id', ParseUUIDPipe) id: string,
    @Body() body: unknown,
  ): Promise<AddressId> {
    return { id: await this.addresses.replace(accountId, id, emailOf(body)) };
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiNoContentResponse()
  @ApiNotFoundResponse({ description: 'You have no such address.' })
  @ApiConflictResponse({ description: 'It is the primary one, and another could be.' })
  remove(@SignedIn() { accountId }: Session, @Param('id', ParseUUIDPipe) id: string): Promise<void> {
    return this.addresses.remove(accountId, id);
  }

  @Post(':id/primary')
  @HttpCode(204)
  @ApiNoContentResponse()
  @ApiNotFoundResponse({ description: 'You have no such address.' })
  @ApiConflictResponse({ description: 'It is not verified.' })
  makePrimary(@SignedIn() { accountId }: Session, @Param('id', ParseUUIDPipe) id: string): Promise<void> {
    return this.addresses.makePrimary(accountId, id);
  }
}

const emailOf = (body: unknown) => requiredEmail('email', (body as Partial<NewAddress> | undefined)?.email);
