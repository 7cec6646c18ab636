import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  ParseUUIDPipe,
  Post,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { ApiBearerAuth, ApiBody, ApiCreatedResponse, ApiOkResponse, ApiProperty, ApiTags } from '@nestjs/swagger';
import { WebhookEndpoints, type ShownSecrets, type WebhookEndpoint } from 'nest-deliveries/webhooks';
import { ProgramGuard } from '../operators/program.guard';
import { partnersTenant } from './account-messages';
import { WebhookErrorsInterceptor } from './webhook-errors.interceptor';

class NewEndpoint {
  @ApiProperty({ example: 'https://acme.example/hooks', description: 'A public HTTPS address' })
  url: string;

  @ApiProperty({ example: ['account_created'], description: 'Kinds of events, or *' })
  kinds: string[];

  @ApiProperty({ example: ['standard'], description: 'standard, ed25519, rullst-v1: one or more', required: false })
  schemes?: ('standard' | 'ed25519' | 'rullst-v1')[];
}

/** Which failed messages of an endpoint: those of accounts that were created in a span of time. */
class FailedSpan {
  @ApiProperty({ required: false, description: 'ISO 8601; this instant or later' })
  from?: string;

  @ApiProperty({ required: false, description: 'ISO 8601; before this instant' })
  until?: string;
}

/** What was counted, and shown. */
class CountedSpan extends FailedSpan {
  @ApiProperty({ description: 'The `asOf` of the count: what failed later is left alone' })
  asOf: string;
}

const id = (): ParameterDecorator => Param('id', ParseUUIDPipe);

/** Partners' endpoints, which operators register, look after and mend. */
@ApiTags('webhooks')
@ApiBearerAuth()
@Controller('admin/webhooks/endpoints')
@UseGuards(ProgramGuard)
@UseInterceptors(WebhookErrorsInterceptor)
export class EndpointsController {
  constructor(private readonly endpoints: WebhookEndpoints) {}

  @Post()
  @ApiBody({ type: NewEndpoint })
  @ApiCreatedResponse({ description: 'The endpoint, and its secrets, which are never shown again.' })
  register(@Body() body: NewEndpoint | undefined): Promise<{ endpoint: WebhookEndpoint; secrets: ShownSecrets }> {
    const { url = '', kinds = [], schemes } = body ?? {};
    return this.endpoints.register({ tenant: partnersTenant, url, kinds, ...(schemes && { schemes }) });
  }

  @Get()
  @ApiOkResponse({ description: 'Up to 100, without their URLs.' })
  list(): Promise<WebhookEndpoint[]> {
    return this.endpoints.list(partnersTenant);
  }

  @Post(':id/rotate')
  @ApiCreatedResponse({ description: 'New secrets; the old ones stay good for a day.' })
  rotate(@id() endpoint: string): Promise<ShownSecrets> {
    return this.endpoints.rotateSecret(partnersTenant, endpoint);
  }

  @Post(':id/test')
  @ApiCreatedResponse({ description: 'The id of a signed test message.' })
  async test(@id() endpoint: string): Promise<{ messageId: string }> {
    return { messageId: await this.endpoints.sendTest(partnersTenant, endpoint) };
  }

  @Post(':id/disable')
  @HttpCode(204)
  disable(@id() endpoint: string): Promise<void> {
    return this.endpoints.disable(partnersTenant, endpoint);
  }

  @Post(':id/enable')
  @HttpCode(204)
  enable(@id() endpoint: string): Promise<void> {
    return this.endpoints.enable(partnersTenant, endpoint);
  }

  @Post(':id/failed/count')
  @HttpCode(200)
  @ApiBody({ type: FailedSpan })
  @ApiOkResponse({ description: 'How many a retry would send again, and as of when.' })
  count(@id() endpoint: string, @Body() body: FailedSpan | undefined): ReturnType<WebhookEndpoints['countFailed']> {
    return this.endpoints.countFailed(partnersTenant, endpoint, spanOf(body));
  }

  @Post(':id/failed/retry')
  @HttpCode(200)
  @ApiBody({ type: CountedSpan })
  @ApiOkResponse({ description: 'How many are sent again.' })
  retry(@id() endpoint: string, @Body() body: CountedSpan | undefined): ReturnType<WebhookEndpoints['retryFailed']> {
    const options = { actor: 'operator', asOf: new Date(body?.asOf ?? '') };
    return this.endpoints.retryFailed(partnersTenant, endpoint, spanOf(body), options);
  }
}

/** What is no time becomes an invalid date, which the library refuses in words. */
const spanOf = ({ from, until }: FailedSpan = {}): { from?: Date; until?: Date } => ({
  ...(from !== undefined && { from: new Date(from) }),
  ...(until !== undefined && { until: new Date(until) }),
});
