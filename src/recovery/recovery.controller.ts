import { Body, Controller, HttpCode, Param, ParseUUIDPipe, Post, UseGuards } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiBody,
  ApiForbiddenResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiProperty,
  ApiTags,
} from '@nestjs/swagger';
import { requiredEmail } from '../input/required-email';
import { requiredText } from '../input/required-text';
import { SessionGuard, SignedIn, type Session } from '../sessions/session.guard';
import { RecoveryService, type CompletedRecovery } from './recovery.service';

class RecoveryRequest {
  @ApiProperty({ example: 'ada@example.com', description: 'The primary address of an account' })
  email: string;
}

class FollowedRecovery {
  @ApiProperty({ description: 'From the link' })
  token: string;

  @ApiProperty({ required: false, description: 'Name of the passkey to add; without it every passkey is taken away' })
  passkey?: string;
}

class DoneRecovery implements CompletedRecovery {
  @ApiProperty({ format: 'uuid' })
  recoveryId: string;

  @ApiProperty({ required: false })
  passkey?: string;
}

@ApiTags('recovery')
@Controller()
export class RecoveryController {
  constructor(private readonly recoveries: RecoveryService) {}

  @Post('recoveries')
  @HttpCode(202)
  @ApiBody({ type: RecoveryRequest })
  @ApiAcceptedResponse({ description: 'If it is the primary address of an account, a link is on its way.' })
  @ApiBadRequestResponse({ description: 'It is not one address.' })
  start(@Body() body: unknown): Promise<void> {
    return this.recoveries.start(requiredEmail('email', (body as Partial<RecoveryRequest> | undefined)?.email));
  }

  @Post('recoveries/complete')
  @HttpCode(200)
  @ApiBody({ type: FollowedRecovery })
  @ApiOkResponse({
    type: DoneRecovery,
    description: 'Every session has ended, and every verified address will hear of it.',
  })
  @ApiNotFoundResponse({ description: 'The link was used, cancelled, or has expired.' })
  complete(@Body() body: unknown): Promise<CompletedRecovery> {
    const given = body as Partial<FollowedRecovery> | undefined;
    const token = requiredText('token', given?.token, /^[\w-]{43}$/, 'the token of the link');
    const passkey =
      given?.passkey === undefined
        ? undefined
        : requiredText('passkey', given.passkey, /^[^\p{Cc}\p{Cs}]{1,80}$/u, '1 to 80 characters');
    return this.recoveries.complete(token, passkey);
  }

  @Post('account/recoveries/:id/cancel')
  @ApiBearerAuth()
  @UseGuards(SessionGuard)
  @HttpCode(204)
  @ApiNoContentResponse({ description: 'Its link works no more.' })
  @ApiNotFoundResponse({ description: 'You have no such recovery that is open.' })
  cancel(@SignedIn() { accountId }: Session, @Param('id', ParseUUIDPipe) id: string): Promise<void> {
    return this.recoveries.cancel(accountId, id);
  }

  @Post('account/recoveries/:id/undo')
  @ApiBearerAuth()
  @UseGuards(SessionGuard)
  @HttpCode(204)
  @ApiNoContentResponse({ description: 'The passkey that it added is gone, and the other sessions have ended.' })
  @ApiForbiddenResponse({ description: 'You are not signed in with a passkey that is older than the recovery.' })
  @ApiNotFoundResponse({ description: 'You have no such recovery that could be undone.' })
  undo(@SignedIn() session: Session, @Param('id', ParseUUIDPipe) id: string): Promise<void> {
    return this.recoveries.undo(session, id);
  }
}
