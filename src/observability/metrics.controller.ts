import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { DeliveriesMetrics } from 'nest-deliveries';

/** Serves this application's own registry, where PrometheusModule's controller would serve the one of the whole process. */
@ApiExcludeController()
@Controller()
export class MetricsController {
  constructor(private readonly metrics: DeliveriesMetrics) {}

  @Get()
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  show(): Promise<string> {
    return this.metrics.registry!.metrics();
  }
}
