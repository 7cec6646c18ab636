import { Controller, Get, HttpCode, Post, UseGuards } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags, ApiUnauthorizedResponse } from '@nestjs/swagger';
import { InjectDataSource } from '@nestjs/typeorm';
import { DeliveryRecorder } from 'nest-deliveries';
import { Received, VerifyWebhook, WebhookReceipts, type ReceivedMessage } from 'nest-deliveries/webhooks';
import type { DataSource } from 'typeorm';
import { ProgramGuard } from '../operators/program.guard';

/** What another party signs with. */
export class InboxSecret {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  shown(): string {
    return this.#secret;
  }
}

/** Takes what another party signed: each message once, remembered in the transaction that handles it. */
@ApiTags('webhooks')
@Controller()
export class InboxController {
  constructor(
    private readonly receipts: WebhookReceipts,
    private readonly recorder: DeliveryRecorder,
    private readonly secret: InboxSecret,
    @InjectDataSource() private readonly dataSource: DataSource,
  ) {}

  @Post('webhooks/inbox')
  @HttpCode(200)
  @VerifyWebhook('partner')
  @ApiOkResponse({ description: 'Handled, now or before.' })
  @ApiUnauthorizedResponse({ description: 'Not signed by the partner, or too old.' })
  take(@Received() message: ReceivedMessage): Promise<{ duplicate: boolean }> {
    return this.dataSource.transaction(async (tx) => {
      if (!(await this.receipts.isFirst(tx, message))) return { duplicate: true };
      // Here an application does what it was told, in the same transaction.
      await this.recorder.record(tx, { type: 'partner_message_received', payload: { messageId: message.id } });
      return { duplicate: false };
    });
  }

  @Get('admin/webhooks/inbox')
  @ApiBearerAuth()
  @UseGuards(ProgramGuard)
  @ApiOkResponse({ description: 'What the other party needs.' })
  forTheSender(): { path: string; secret: string } {
    return { path: '/webhooks/inbox', secret: this.secret.shown() };
  }
}
