import { Module, type DynamicModule } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import type { Registry } from 'prom-client';
import { HealthController } from './health.controller';
import { MetricsController } from './metrics.controller';

/** `/metrics`, `/health/live` and `/health/ready`. */
@Module({})
export class ObservabilityModule {
  /** @param registry the application's own, since tests run several applications in one process */
  static forRoot(registry: Registry): DynamicModule {
    return {
      module: ObservabilityModule,
      imports: [
        PrometheusModule.register({
          path: '/metrics',
          controller: MetricsController,
          defaultMetrics: { enabled: true, config: { register: registry } },
        }),
        // Whoever asks is told in the answer; a line for each question would hide what else is logged.
        TerminusModule.forRoot({ logger: false }),
      ],
      controllers: [HealthController],
    };
  }
}
