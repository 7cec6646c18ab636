import { Body, Controller, Post, UseGuards } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiBody,
  ApiCreatedResponse,
  ApiProperty,
  ApiTags,
} from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { requiredText } from '../input/required-text';
import { SessionGuard, SignedIn, type Session } from '../sessions/session.guard';

class NewPasskey {
  @ApiProperty({ example: 'Phone', description: '1 to 80 characters' })
  name: string;
}

class Passkey extends NewPasskey {
  @ApiProperty({ format: 'uuid' })
  id: string;
}

/** Passkeys by name alone: what a recovery adds, and what can take it back. */
@ApiTags('passkeys')
@ApiBearerAuth()
@UseGuards(SessionGuard)
@Controller('account/passkeys')
export class PasskeysController {
  constructor(private readonly dataSource: DataSource) {}

  @Post()
  @ApiBody({ type: NewPasskey })
  @ApiCreatedResponse({ type: Passkey })
  @ApiBadRequestResponse({ description: 'The name is malformed.' })
  async add(@SignedIn() { accountId }: Session, @Body() body: unknown): Promise<Passkey> {
    const name = requiredText(
      'name',
      (body as Partial<NewPasskey> | undefined)?.name,
      /^[^\p{Cc}\p{Cs}]{1,80}$/u,
      '1 to 80 characters',
    );
    const [row] = await this.dataSource.query<[Passkey]>(
      'INSERT INTO passkeys (account_id, name) VALUES ($1, $2) RETURNING id, name',
      [accountId, name],
    );
    return row;
  }
}
