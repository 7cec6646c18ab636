import {
  Body,
  Controller,
  Get,
  HttpCode,
  NotFoundException,
  Param,
  ParseUUIDPipe,
  Post,
  Put,
  UseGuards,
} from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiBody,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiProperty,
  ApiTags,
} from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { requiredFlag } from '../input/required-flag';
import { SessionGuard, SignedIn, type Session } from '../sessions/session.guard';
import { wordsOf, type Notification } from './notification';

class InboxEntry {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ example: 'recovered' })
  kind: string;

  @ApiProperty({ example: 'Your account was recovered' })
  subject: string;

  @ApiProperty()
  text: string;

  @ApiProperty()
  createdAt: Date;

  @ApiProperty({ type: Date, nullable: true })
  readAt: Date | null;
}

class Preferences {
  @ApiProperty({ description: 'Whether announcements that are not essential come by email too' })
  announcementsByEmail: boolean;
}

type Row = Omit<InboxEntry, 'subject' | 'text'> & {
  readonly data: object;
  readonly subject: string | null;
  readonly text: string | null;
};

// What an announcement says stands once, in a row that never changes, and not in each inbox.
const entries = `
SELECT n.id, n.kind, n.data, a.subject, a.text, n.created_at AS "createdAt", n.read_at AS "readAt"
  FROM notifications n LEFT JOIN announcements a ON a.id = n.announcement_id
 WHERE n.account_id = $1`;

@ApiTags('inbox')
@ApiBearerAuth()
@UseGuards(SessionGuard)
@Controller('account')
export class InboxController {
  constructor(private readonly dataSource: DataSource) {}

  @Get('notifications')
  @ApiOkResponse({ type: [InboxEntry], description: 'The newest 100.' })
  async list(@SignedIn() { accountId }: Session): Promise<InboxEntry[]> {
    const rows = await this.dataSource.query<Row[]>(`${entries} ORDER BY n.created_at DESC LIMIT 100`, [accountId]);
    return rows.map(entryOf);
  }

  @Get('notifications/:id')
  @ApiOkResponse({ type: InboxEntry })
  @ApiNotFoundResponse({ description: 'There is none of this id in this inbox.' })
  async show(@SignedIn() { accountId }: Session, @Param('id', ParseUUIDPipe) id: string): Promise<InboxEntry> {
    const [row] = await this.dataSource.query<Row[]>(`${entries} AND n.id = $2`, [accountId, id]);
    if (!row) throw new NotFoundException('There is no such notification in your inbox.');
    return entryOf(row);
  }

  @Post('notifications/:id/read')
  @HttpCode(204)
  @ApiNoContentResponse()
  async read(@SignedIn() { accountId }: Session, @Param('id', ParseUUIDPipe) id: string): Promise<void> {
    await this.dataSource.query(
      'UPDATE notifications SET read_at = clock_timestamp() WHERE account_id = $1 AND id = $2 AND read_at IS NULL',
      [accountId, id],
    );
  }

  @Get('preferences')
  @ApiOkResponse({ type: Preferences })
  async preferences(@SignedIn() { accountId }: Session): Promise<Preferences> {
    const [row] = await this.dataSource.query<[Preferences]>(
      'SELECT announcements_by_email AS "announcementsByEmail" FROM accounts WHERE id = $1',
      [accountId],
    );
    return row;
  }

  @Put('preferences')
  @ApiBody({ type: Preferences })
  @ApiOkResponse({ type: Preferences })
  @ApiBadRequestResponse({ description: 'It is neither true nor false.' })
  async prefer(@SignedIn() { accountId }: Session, @Body() body: unknown): Promise<Preferences> {
    const given = (body as Partial<Preferences> | undefined)?.announcementsByEmail;
    const announcementsByEmail = requiredFlag('announcementsByEmail', given);
    await this.dataSource.query('UPDATE accounts SET announcements_by_email = $2 WHERE id = $1', [
      accountId,
      announcementsByEmail,
    ]);
    return { announcementsByEmail };
  }
}

function entryOf({ id, kind, data, subject, text, createdAt, readAt }: Row): InboxEntry {
  const words = subject === null ? wordsOf({ kind, data } as Notification) : { subject, text: text! };
  return { id, kind, ...words, createdAt, readAt };
}
