import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import { DeliveryOperations } from '../../delivery-operations';
import { refuseUnknownKeys } from '../../check-request';
import { withoutPayload } from '../hide-payload';
import { Operators } from '../operators';
import * as model from './api-model';
import { conditionQueries, documented, pageQueries } from './documented';
import { readBody, readBulkBody, readQuery } from './read-request';

/**
 * What operators do, as JSON over HTTP. It holds no rules: `DeliveryOperations` has them. Registered only behind guards; see
 * `admin-parts.ts`.
 */
@Controller()
export class DeliveriesAdminController {
  constructor(
    @Inject(DeliveryOperations) private readonly operations: DeliveryOperations,
    @Inject(Operators) private readonly operators: Operators,
  ) {}

  @Get('deliveries')
  @documented('Deliveries that fit, newest first; by id where more than 5,000 pending ones are among them', {
    type: model.DeliveryPageModel,
    queries: [...conditionQueries, ...pageQueries],
  })
  list(@Query() query: unknown): Promise<model.DeliveryPageModel> {
    return this.operations.list(readQuery(query));
  }

  @Get('count')
  @documented('How many fit, 10,000 at most; with `operation`, how many that would change, 3,000 at most', {
    type: model.CountModel,
    queries: [...conditionQueries, { name: 'operation', enum: ['retry', 'cancel'] }],
  })
  count(@Query() query: unknown): Promise<model.CountModel> {
    const { operation, ...conditions } = readQuery(query);
    return operation === undefined
      ? this.operations.count(conditions)
      : this.operations.countMatching(operation, conditions);
  }

  @Get('deliveries/:id')
  @documented('A delivery with its attempts, its event, what was done to it and what it waits for', {
    type: model.DeliveryDetailModel,
  })
  async show(@Param('id') id: string, @Req() request: unknown): Promise<model.DeliveryDetailModel> {
    const payloadShown = await this.operators.canSeePayload(request);
    const delivery = await this.operations.show(id);
    return { ...(payloadShown ? delivery : withoutPayload(delivery)), payloadShown };
  }

  @Post('deliveries/:id/retry')
  @HttpCode(200)
  @documented('Sends a failed delivery again, now', { type: model.RetriedModel, body: model.RetryBody })
  async retry(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<model.RetriedModel> {
    const { restartAgeBehind } = known(readBody(body), ['restartAgeBehind']);
    const actor = await this.operators.actorOf(request);
    return this.operations.retry(id, restartAgeBehind === undefined ? { actor } : { actor, restartAgeBehind });
  }

  @Post('deliveries/:id/cancel')
  @HttpCode(200)
  @documented('Gives a pending or failed delivery up', { type: model.CancelledModel })
  async cancel(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<model.CancelledModel> {
    known(readBody(body), []);
    return this.operations.cancel(id, { actor: await this.operators.actorOf(request) });
  }

  @Post('retry')
  @HttpCode(200)
  @documented(
    'Retries all that fit and can be retried, oldest first; call again with `after` until there is no `next`',
    {
      type: model.BulkReportModel,
      body: model.BulkRetryBody,
    },
  )
  async retryMatching(@Body() body: unknown, @Req() request: unknown): Promise<model.BulkReportModel> {
    const { conditions, options } = readBulkBody(body);
    return this.operations.retryMatching(conditions, await this.signed(options, request));
  }

  @Post('cancel')
  @HttpCode(200)
  @documented(
    'Cancels all that fit and can be cancelled, oldest first; call again with `after` until there is no `next`',
    {
      type: model.BulkReportModel,
      body: model.BulkCancelBody,
    },
  )
  async cancelMatching(@Body() body: unknown, @Req() request: unknown): Promise<model.BulkReportModel> {
    const { conditions, options } = readBulkBody(body);
    return this.operations.cancelMatching(conditions, await this.signed(options, request));
  }

  @Get('stats')
  @documented('How the queue stands, channel by channel', { type: model.StatsModel })
  stats(@Query() query: unknown): Promise<model.StatsModel> {
    known(readQuery(query), []);
    return this.operations.stats();
  }

  @Get('throughput')
  @documented('How many deliveries ended, over time', {
    type: model.ThroughputModel,
    queries: [
      { name: 'window', example: '1h', description: 'How far back: 1m to 7d' },
      { name: 'bucket', example: '1m', description: 'At most 120 fit into the window' },
    ],
  })
  throughput(@Query() query: unknown): Promise<model.ThroughputModel> {
    return this.operations.throughput(readQuery(query));
  }

  @Get('pauses')
  @documented('Channels and lanes that are paused now', { type: [model.PauseModel] })
  async pauses(@Query() query: unknown): Promise<model.PauseModel[]> {
    known(readQuery(query), []);
    return [...(await this.operations.pauses())];
  }

  @Post('pause')
  @HttpCode(200)
  @documented('Has workers leave a channel, or a lane of it, alone', { type: model.PauseModel, body: model.PauseBody })
  async pause(@Body() body: unknown, @Req() request: unknown): Promise<model.PauseModel> {
    const { until, for: length, ...target } = readBody(body);
    const actor = await this.operators.actorOf(request);
    return this.operations.pause(target as never, { actor, until, for: length });
  }

  @Post('resume')
  @HttpCode(200)
  @documented('Takes every pause of a channel, or of a lane of it, back', {
    type: [model.PauseModel],
    body: model.ResumeBody,
  })
  async resume(@Body() body: unknown, @Req() request: unknown): Promise<model.PauseModel[]> {
    const actor = await this.operators.actorOf(request);
    return [...(await this.operations.resume(readBody(body) as never, { actor }))];
  }

  @Get('audit')
  @documented('What operators and clean-up did, newest first', {
    type: model.AuditPageModel,
    queries: [{ name: 'deliveryId' }, { name: 'actor' }, { name: 'type', example: 'delivery_retried' }, ...pageQueries],
  })
  audit(@Query() query: unknown): Promise<model.AuditPageModel> {
    return this.operations.audit(readQuery(query));
  }

  /** The actor is who sent the request, whatever its body says. */
  private async signed(options: object, request: unknown): Promise<{ actor: string }> {
    refuseUnknownKeys(options, ['asOf', 'limit', 'after', 'spreadOver', 'restartAgeBehind']);
    return { ...options, actor: await this.operators.actorOf(request) };
  }
}

function known<T extends object>(given: T, keys: readonly string[]): T {
  refuseUnknownKeys(given, keys);
  return given;
}
