import {
  Controller,
  Delete,
  Get,
  HttpCode,
  NotFoundException,
  Param,
  ParseUUIDPipe,
  Post,
  UseGuards,
} from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiProperty,
  ApiTags,
} from '@nestjs/swagger';
import { DeliveryRecorder } from 'nest-deliveries';
import { DataSource } from 'typeorm';
import { SessionGuard, SignedIn, type Session } from './session.guard';
import { SessionsService } from './sessions.service';

class OpenSession {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty()
  createdAt: Date;

  @ApiProperty({ type: [String], description: 'Clients that hold tokens from it, and will hear of its end' })
  clients: string[];
}

@ApiTags('sessions')
@ApiBearerAuth()
@UseGuards(SessionGuard)
@Controller('account/sessions')
export class SessionsController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly recorder: DeliveryRecorder,
    private readonly sessions: SessionsService,
  ) {}

  @Get()
  @ApiOkResponse({ type: [OpenSession] })
  list(@SignedIn() { accountId }: Session): Promise<OpenSession[]> {
    return this.dataSource.query<OpenSession[]>(
      `SELECT s.id, s.created_at AS "createdAt",
              ARRAY (SELECT c.client_id FROM oidc_session_clients c WHERE c.session_id = s.id ORDER BY 1) AS clients
         FROM sessions s WHERE s.account_id = $1 AND s.expires_at > now() ORDER BY s.created_at DESC LIMIT 100`,
      [accountId],
    );
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiNoContentResponse({ description: 'It has ended; its clients will hear of it.' })
  @ApiNotFoundResponse({ description: 'There is no such session.' })
  async end(@SignedIn() { accountId }: Session, @Param('id', ParseUUIDPipe) id: string): Promise<void> {
    const ended = await this.recorder.transaction((tx) => this.sessions.revokeSessions(tx, { accountId, only: id }));
    if (ended === 0) throw new NotFoundException('You have no such session.');
  }

  @Post('end-others')
  @HttpCode(204)
  @ApiNoContentResponse({ description: 'Every session but this one has ended.' })
  async endOthers(@SignedIn() { accountId, id }: Session): Promise<void> {
    await this.recorder.transaction((tx) => this.sessions.revokeSessions(tx, { accountId, except: id }));
  }
}
