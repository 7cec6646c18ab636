import { BadRequestException, Body, ConflictException, Controller, Get, Post } from '@nestjs/common';
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
import { OutboundHttp } from 'nest-deliveries/outbound-http';
import type { Repository } from 'typeorm';
import { violates } from '../database';
import { requiredText } from '../input/required-text';
import { Partner } from './partner.entity';

class NewPartner {
  @ApiProperty({ example: 'Acme', description: '1 to 80 characters' })
  name: string;

  @ApiProperty({ example: 'https://acme.example/hooks/accounts', description: 'Where to POST what happened' })
  endpoint: string;
}

@ApiTags('partners')
@Controller('partners')
export class PartnersController {
  constructor(
    private readonly http: OutboundHttp,
    @InjectRepository(Partner) private readonly stored: Repository<Partner>,
  ) {}

  @Post()
  @ApiBody({ type: NewPartner })
  @ApiCreatedResponse({ type: Partner, description: 'From now on it is told of every new account.' })
  @ApiBadRequestResponse({ description: 'The name is malformed, or nothing may be sent to the endpoint.' })
  @ApiConflictResponse({ description: 'The name is taken.' })
  async register(@Body() body: unknown): Promise<Partner> {
    const given = body as Partial<NewPartner> | undefined;
    const name = requiredText('name', given?.name, /^[^\p{Cc}\p{Cs}]{1,80}$/u, '1 to 80 characters');
    const endpoint = this.endpointOf(given?.endpoint);
    try {
      return await this.stored.save(this.stored.create({ name, endpoint }));
    } catch (error) {
      if (!violates(error, 'partners_name_taken')) throw error;
      throw new ConflictException('A partner of this name is registered already.');
    }
  }

  @Get()
  @ApiOkResponse({ type: [Partner], description: 'The newest 100.' })
  list(): Promise<Partner[]> {
    return this.stored.find({ order: { createdAt: 'DESC' }, take: 100 });
  }

  /** What can be told without asking DNS; the rest is checked again whenever something is sent. */
  private endpointOf(value: unknown): string {
    const url = requiredText('endpoint', value, /^https:\/\/./, 'an address that begins with https://');
    const verdict = this.http.checkDestination(url);
    if (verdict.allowed) return url;
    throw new BadRequestException(`endpoint must be a public HTTPS address; this one is refused: ${verdict.reason}.`);
  }
}
