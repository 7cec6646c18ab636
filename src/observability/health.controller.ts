import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { HealthCheck, HealthCheckService, type HealthCheckResult } from '@nestjs/terminus';
import { DeliveriesHealthIndicator } from 'nest-deliveries';
import { EmailHealthIndicator } from 'nest-deliveries/email';

@ApiTags('health')
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly deliveries: DeliveriesHealthIndicator,
    private readonly email: EmailHealthIndicator,
  ) {}

  /** For whoever restarts the process: looks at nothing outside it. */
  @Get('live')
  @HealthCheck()
  live(): Promise<HealthCheckResult> {
    return this.health.check([() => this.deliveries.liveness()]);
  }

  /** For whoever sends it requests. */
  @Get('ready')
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    return this.health.check([() => this.deliveries.readiness(), () => this.email.check()]);
  }
}
