import { Body, Controller, Get, Header, HttpCode, Post, Query } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiBody,
  ApiExcludeEndpoint,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiProperty,
  ApiTags,
} from '@nestjs/swagger';
import { AddressesService } from '../addresses/addresses.service';
import { requiredText } from '../input/required-text';
import { page } from './page';

class FollowedLink {
  @ApiProperty({ description: 'From the link' })
  token: string;
}

const signIn =
  '<p>This application shows how messages are sent, and has no pages for people who are signed in: <a href="/api">the API</a> does it all.</p>';

/** Where the links in emails lead. A GET changes nothing: programs that look at emails follow their links. */
@ApiTags('links')
@Controller()
export class LinksController {
  constructor(private readonly addresses: AddressesService) {}

  @Get('verify')
  @ApiExcludeEndpoint()
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('referrer-policy', 'no-referrer')
  verification(@Query('token') token: unknown): string {
    return page(
      'Verify your address',
      `<form method="post" action="/verify"><input type="hidden" name="token" value="${tokenOf(token)}"><button>It is mine</button></form>`,
    );
  }

  @Post('verify')
  @HttpCode(200)
  @Header('content-type', 'text/html; charset=utf-8')
  @ApiBody({ type: FollowedLink })
  @ApiOkResponse({ description: 'The address is verified.' })
  @ApiBadRequestResponse({ description: 'It is no token.' })
  @ApiNotFoundResponse({ description: 'The link was used, has expired, or was replaced.' })
  async verify(@Body() body: unknown): Promise<string> {
    await this.addresses.verify(tokenOf((body as Partial<FollowedLink> | undefined)?.token));
    return page('Your address is verified');
  }

  @Get('recover')
  @ApiExcludeEndpoint()
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('referrer-policy', 'no-referrer')
  recovery(@Query('token') token: unknown): string {
    const field = `<input type="hidden" name="token" value="${tokenOf(token)}">`;
    return page(
      'Recover your account',
      '<p>Every session ends.</p>',
      `<form method="post" action="/recoveries/complete">${field}<label>Add a passkey named <input name="passkey" required></label> <button>Add it</button></form>`,
      `<form method="post" action="/recoveries/complete">${field}<button>Take every passkey away</button></form>`,
    );
  }

  @Get(['inbox', 'inbox/:id', 'recoveries/:id/undo'])
  @ApiExcludeEndpoint()
  @Header('content-type', 'text/html; charset=utf-8')
  inbox(): string {
    return page('Sign in', signIn);
  }
}

const tokenOf = (value: unknown): string => requiredText('token', value, /^[\w-]{43}$/, 'the token of the link');
