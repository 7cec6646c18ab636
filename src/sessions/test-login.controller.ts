import { Body, Controller, NotFoundException, Post } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiNotFoundResponse, ApiProperty, ApiTags } from '@nestjs/swagger';
import { DeliveryRecorder } from 'nest-deliveries';
import { requiredText } from '../input/required-text';
import { SessionsService } from './sessions.service';

class TestLogin {
  @ApiProperty({ example: 'ada' })
  handle: string;

  @ApiProperty({ required: false, description: 'Name of a passkey of the account, to sign in as if with it' })
  passkey?: string;
}

class BegunSession {
  @ApiProperty({ format: 'uuid' })
  sessionId: string;

  @ApiProperty({ description: 'For the header authorization: Bearer …' })
  token: string;
}

/**
 * Signs anybody in as anybody. How people prove who they are is not what this application shows; it is not served in production,
 * which does not start with it.
 */
@ApiTags('test login')
@Controller('test-login')
export class TestLoginController {
  constructor(
    private readonly recorder: DeliveryRecorder,
    private readonly sessions: SessionsService,
  ) {}

  @Post()
  @ApiBody({ type: TestLogin })
  @ApiCreatedResponse({ type: BegunSession })
  @ApiNotFoundResponse({ description: 'There is no such account, it is not active, or it has no such passkey.' })
  async login(@Body() body: unknown): Promise<BegunSession> {
    const given = body as Partial<TestLogin> | undefined;
    const handle = requiredText('handle', given?.handle, /^.{1,40}$/, '1 to 40 characters');
    const passkey =
      given?.passkey === undefined
        ? undefined
        : requiredText('passkey', given.passkey, /^.{1,80}$/u, '1 to 80 characters');
    const session = await this.recorder.transaction(async (tx) => {
      const [account] = await tx.query<{ id: string; passkeyId: string | null }[]>(
        `SELECT a.id, p.id AS "passkeyId" FROM accounts a LEFT JOIN passkeys p ON p.account_id = a.id AND p.name = $2
          WHERE a.handle = $1 AND ($2::text IS NULL OR p.id IS NOT NULL) ORDER BY p.created_at LIMIT 1`,
        [handle, passkey ?? null],
      );
      return account && this.sessions.begin(tx, account.id, account.passkeyId);
    });
    if (!session) throw new NotFoundException('There is no active account of this handle, or it has no such passkey.');
    return session;
  }
}
