import {
  BadRequestException,
  Body,
  Controller,
  Delete,
  HttpCode,
  Param,
  ParseUUIDPipe,
  Post,
  UseGuards,
} from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiBody,
  ApiConflictResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiProperty,
  ApiTags,
} from '@nestjs/swagger';
import { handleOf } from '../input/handle-of';
import { requiredEmail } from '../input/required-email';
import { requiredText } from '../input/required-text';
import { ProgramGuard } from '../operators/program.guard';
import { AccountsAdminService } from './accounts-admin.service';

class MovedAccount {
  @ApiProperty({ example: 'ada', description: '1 to 40 of a-z, 0-9, _ and -' })
  handle: string;

  @ApiProperty({ example: 'ada@example.com', description: 'Verified where it comes from' })
  email: string;
}

class MovedAccounts {
  @ApiProperty({ type: [MovedAccount], description: '1 to 1000' })
  accounts: MovedAccount[];
}

class Alert {
  @ApiProperty({ example: 'A client cannot be reached', description: 'One line of 1 to 150 characters' })
  subject: string;

  @ApiProperty({ description: '1 to 2,000 characters' })
  text: string;
}

@ApiTags('accounts, for operators')
@ApiBearerAuth()
@UseGuards(ProgramGuard)
@Controller('admin/accounts')
export class AccountsAdminController {
  constructor(private readonly accounts: AccountsAdminService) {}

  @Post('move')
  @HttpCode(204)
  @ApiBody({ type: MovedAccounts })
  @ApiNoContentResponse({ description: 'All are here, with their addresses.' })
  @ApiBadRequestResponse({ description: 'A handle or an address is malformed.' })
  @ApiConflictResponse({ description: 'A handle or an address is taken, so none was moved.' })
  async move(@Body() body: unknown): Promise<void> {
    const given: unknown = (body as Partial<MovedAccounts> | undefined)?.accounts;
    if (!Array.isArray(given) || given.length < 1 || given.length > 1_000) {
      throw new BadRequestException('accounts must be a list of 1 to 1000 accounts.');
    }
    await this.accounts.move(
      (given as Partial<MovedAccount>[]).map((each) => ({
        handle: handleOf(each?.handle),
        email: requiredEmail('email', each?.email),
      })),
    );
  }

  @Post(':id/disable')
  @HttpCode(204)
  @ApiNoContentResponse({ description: 'Its sessions have ended.' })
  @ApiNotFoundResponse({ description: 'There is no such account.' })
  disable(@Param('id', ParseUUIDPipe) id: string): Promise<void> {
    return this.accounts.disable(id);
  }

  @Post(':id/enable')
  @HttpCode(204)
  @ApiNoContentResponse()
  @ApiNotFoundResponse({ description: 'There is no such account.' })
  enable(@Param('id', ParseUUIDPipe) id: string): Promise<void> {
    return this.accounts.enable(id);
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiNoContentResponse({ description: 'It is gone, with all that belonged to it.' })
  @ApiNotFoundResponse({ description: 'There is no such account.' })
  purge(@Param('id', ParseUUIDPipe) id: string): Promise<void> {
    return this.accounts.purge(id);
  }

  @Post(':id/alerts')
  @HttpCode(204)
  @ApiBody({ type: Alert })
  @ApiNoContentResponse({ description: 'It is in the inbox, and on its way to the primary address.' })
  @ApiNotFoundResponse({ description: 'There is no such account.' })
  alert(@Param('id', ParseUUIDPipe) id: string, @Body() body: unknown): Promise<void> {
    const given = body as Partial<Alert> | undefined;
    return this.accounts.alert(id, {
      subject: requiredText(
        'subject',
        given?.subject,
        /^[^\p{Cc}\p{Cs}\u2028\u2029]{1,150}$/u,
        'one line of 1 to 150 characters',
      ),
      text: requiredText('text', given?.text, /^(?:[^\p{Cc}\p{Cs}]|[\n\t]){1,2000}$/u, '1 to 2,000 characters'),
    });
  }
}
