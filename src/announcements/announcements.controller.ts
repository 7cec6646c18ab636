import { Body, Controller, Get, NotFoundException, Param, ParseUUIDPipe, Post, UseGuards } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiBody,
  ApiCreatedResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiProperty,
  ApiTags,
} from '@nestjs/swagger';
import { requiredFlag } from '../input/required-flag';
import { requiredText } from '../input/required-text';
import { ProgramGuard } from '../operators/program.guard';
import { AnnouncementsService, type AnnouncementProgress } from './announcements.service';

class NewAnnouncement {
  @ApiProperty({ example: 'Maintenance on Sunday', description: 'One line of 1 to 150 characters' })
  subject: string;

  @ApiProperty({ description: '1 to 10,000 characters; an empty line parts paragraphs' })
  text: string;

  @ApiProperty({ description: 'By email also to those who want no announcements by email' })
  essential: boolean;
}

class SentAnnouncement extends NewAnnouncement implements AnnouncementProgress {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty()
  sentAt: Date;

  @ApiProperty({ description: 'Inboxes that it is in' })
  recipients: number;

  @ApiProperty({ description: 'Emails: the sum of what follows' })
  emails: number;

  @ApiProperty({ description: 'It is finished when none is' })
  pending: number;

  @ApiProperty()
  sent: number;

  @ApiProperty({ description: 'Nothing was to be sent any more' })
  skipped: number;

  @ApiProperty()
  failed: number;

  @ApiProperty()
  cancelled: number;

  @ApiProperty({ description: 'Deleted since, with an account or by age' })
  removed: number;
}

@ApiTags('announcements')
@ApiBearerAuth()
@UseGuards(ProgramGuard)
@Controller('admin/announcements')
export class AnnouncementsController {
  constructor(private readonly announcements: AnnouncementsService) {}

  @Post()
  @ApiBody({ type: NewAnnouncement })
  @ApiCreatedResponse({ type: SentAnnouncement, description: 'It is in every inbox, and its emails are recorded.' })
  @ApiBadRequestResponse({ description: 'Something is missing or too long.' })
  async send(@Body() body: unknown): Promise<AnnouncementProgress> {
    const given = body as Partial<NewAnnouncement> | undefined;
    const subject = requiredText(
      'subject',
      given?.subject,
      /^[^\p{Cc}\p{Cs}\u2028\u2029]{1,150}$/u,
      'one line of 1 to 150 characters',
    );
    const text = requiredText('text', given?.text, /^(?:[^\p{Cc}\p{Cs}]|[\n\t]){1,10000}$/u, '1 to 10,000 characters');
    const essential = requiredFlag('essential', given?.essential);
    return this.show(await this.announcements.send({ subject, text, essential }, 'an operator'));
  }

  @Get(':id')
  @ApiOkResponse({ type: SentAnnouncement })
  @ApiNotFoundResponse({ description: 'There is no such announcement.' })
  async show(@Param('id', ParseUUIDPipe) id: string): Promise<AnnouncementProgress> {
    const progress = await this.announcements.progress(id);
    if (!progress) throw new NotFoundException('There is no such announcement.');
    return progress;
  }
}
