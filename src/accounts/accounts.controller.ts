import { BadRequestException, Body, Controller, Get, Post } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBody,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiOkResponse,
  ApiProperty,
  ApiTags,
} from '@nestjs/swagger';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { handleOf } from '../input/handle-of';
import { requiredEmail } from '../input/required-email';
import { Account } from './account.entity';
import { AccountsService } from './accounts.service';

class NewAccount {
  @ApiProperty({ example: 'ada', description: '1 to 40 of a-z, 0-9, _ and -' })
  handle: string;

  @ApiProperty({ required: false, example: 'ada@example.com', description: 'A link is sent to it' })
  email?: string;
}

class NewAccounts {
  @ApiProperty({ example: ['ada', 'grace'], description: '1 to 1000 handles' })
  handles: string[];
}

@ApiTags('accounts')
@Controller('accounts')
export class AccountsController {
  constructor(
    private readonly accounts: AccountsService,
    @InjectRepository(Account) private readonly stored: Repository<Account>,
  ) {}

  @Post()
  @ApiBody({ type: NewAccount })
  @ApiCreatedResponse({ type: Account, description: 'Every registered partner will be told.' })
  @ApiBadRequestResponse({ description: 'The handle is missing or malformed, or the address is none.' })
  @ApiConflictResponse({ description: 'The handle is taken.' })
  async create(@Body() body: unknown): Promise<Account> {
    const { handle, email } = (body ?? {}) as Partial<NewAccount>;
    const [account] = await this.accounts.create([
      { handle: handleOf(handle), ...(email !== undefined && { email: requiredEmail('email', email) }) },
    ]);
    return account!;
  }

  @Post('import')
  @ApiBody({ type: NewAccounts })
  @ApiCreatedResponse({ type: [Account], description: 'All of them, in one transaction.' })
  @ApiBadRequestResponse({ description: 'The list is missing, or a handle is malformed.' })
  @ApiConflictResponse({ description: 'A handle is taken, so none was created.' })
  async import(@Body() body: unknown): Promise<Account[]> {
    const handles: unknown = (body as Partial<NewAccounts> | undefined)?.handles;
    if (!Array.isArray(handles) || handles.length < 1 || handles.length > 1_000) {
      throw new BadRequestException('handles must be a list of 1 to 1000 handles.');
    }
    return this.accounts.create(handles.map((handle) => ({ handle: handleOf(handle) })));
  }

  @Get()
  @ApiOkResponse({ type: [Account], description: 'The newest 100.' })
  list(): Promise<Account[]> {
    return this.stored.find({ order: { createdAt: 'DESC' }, take: 100 });
  }
}
