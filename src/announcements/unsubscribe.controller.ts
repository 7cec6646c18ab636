import { Controller, Get, Header, HttpCode, NotFoundException, Param, Post } from '@nestjs/common';
import { ApiNotFoundResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { LinkTokens } from '../links/link-tokens';
import { page } from '../pages/page';

/**
 * Unsubscribes with one click (RFC 8058): mail programs POST, without cookies and without asking. GET only shows a button, since
 * whatever looks at links in emails follows them.
 */
@ApiTags('announcements')
@Controller('unsubscribe')
export class UnsubscribeController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly tokens: LinkTokens,
  ) {}

  @Get(':token')
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('referrer-policy', 'no-referrer')
  @ApiOkResponse({ description: 'A page with a button. Nothing has changed.' })
  @ApiNotFoundResponse({ description: 'The link is not one of ours.' })
  show(@Param('token') token: string): string {
    this.accountOf(token);
    return page(
      'Announcements by email',
      '<p>You will find announcements in your inbox all the same.</p>',
      '<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click"><button>Send me none by email</button></form>',
    );
  }

  @Post(':token')
  @HttpCode(200)
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('referrer-policy', 'no-referrer')
  @ApiOkResponse({ description: 'No announcement comes by email any more, unless it is essential.' })
  @ApiNotFoundResponse({ description: 'The link is not one of ours.' })
  async unsubscribe(@Param('token') token: string): Promise<string> {
    await this.dataSource.query('UPDATE accounts SET announcements_by_email = false WHERE id = $1', [
      this.accountOf(token),
    ]);
    return page(
      'You will get no announcements by email',
      '<p>They are in your inbox, where you can also change your mind.</p>',
    );
  }

  private accountOf(token: string): string {
    const accountId = this.tokens.idOf('unsubscribe', token);
    if (accountId === undefined) throw new NotFoundException('This link is not complete. Copy all of it.');
    return accountId;
  }
}
