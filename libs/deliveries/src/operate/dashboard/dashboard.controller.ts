import { Controller, Get, Inject, Param, Post, Req, Res, UseGuards, VERSION_NEUTRAL, type Type } from '@nestjs/common';
import type { ResolvedAdminOptions } from '../admin/admin-options';
import { ApiExcludeController } from '../admin/api/open-api';
import { Operators, type Operator } from '../admin/operators';
import { DashboardActions } from './dashboard-actions';
import { DashboardPages } from './dashboard-pages';
import { DashboardResponder } from './dashboard-responder';
import { HeadersGuard } from './headers.guard';
import { baseOf, formOf, queryOfRequest, type IncomingRequest } from './request/request';

/**
 * The dashboard's routes. `@Res()` takes the answer out of Nest's hands: an interceptor of the host that wraps what handlers
 * return must not wrap a page.
 */
abstract class DashboardRoutes {
  constructor(
    @Inject(DashboardPages) private readonly pages: DashboardPages,
    @Inject(DashboardActions) private readonly actions: DashboardActions,
    @Inject(DashboardResponder) private readonly responder: DashboardResponder,
    @Inject(Operators) private readonly operators: Operators,
  ) {}

  @Get()
  start(@Req() request: IncomingRequest, @Res() response: unknown): void {
    this.responder.goTo(response, `${baseOf(request)}overview`);
  }

  @Get('overview')
  overview(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
    return this.responder.page(request, response, 1, () => this.pages.overview(queryOfRequest(request)));
  }

  @Get('deliveries')
  list(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
    return this.responder.page(request, response, 1, () => this.pages.list(queryOfRequest(request)));
  }

  @Get('deliveries/bulk')
  confirmBulk(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
    return this.responder.page(request, response, 2, () => this.pages.confirmBulk(queryOfRequest(request)));
  }

  @Post('deliveries/bulk')
  bulk(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, 2, (form, operator) => this.actions.bulk(form, operator));
  }

  @Get('deliveries/:id')
  detail(@Param('id') id: string, @Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
    return this.responder.page(request, response, 2, async () => {
      const canSeePayload = await this.operators.canSeePayload(request);
      return this.pages.detail(id, queryOfRequest(request), canSeePayload);
    });
  }

  @Post('deliveries/:id/retry')
  retry(@Param('id') id: string, @Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, 3, (form, operator) => this.actions.retry(id, form, operator));
  }

  @Get('deliveries/:id/cancel')
  confirmCancel(@Param('id') id: string, @Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
    return this.responder.page(request, response, 3, () => this.pages.confirmCancel(id, queryOfRequest(request)));
  }

  @Post('deliveries/:id/cancel')
  cancel(@Param('id') id: string, @Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, 3, (_form, operator) => this.actions.cancel(id, operator));
  }

  @Get('audit')
  audit(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
    return this.responder.page(request, response, 1, () => this.pages.audit(queryOfRequest(request)));
  }

  @Get('pause')
  confirmPause(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
    return this.responder.page(request, response, 1, () => this.pages.confirmPause(queryOfRequest(request)));
  }

  @Post('pause')
  pause(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, 1, (form, operator) => this.actions.pause(form, operator));
  }

  @Post('resume')
  resume(@Req() request: IncomingRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, 1, (form, operator) => this.actions.resume(form, operator));
  }

  @Get('assets/:name')
  asset(@Param('name') name: string, @Res() response: unknown): void {
    this.responder.asset(response, name);
  }

  private change(
    request: IncomingRequest,
    response: unknown,
    depth: number,
    work: (form: URLSearchParams, operator: Operator) => ReturnType<DashboardActions['bulk']>,
  ): Promise<void> {
    return this.responder.form(request, response, depth, async () =>
      work(formOf(request), await this.operators.operatorOf(request)),
    );
  }
}

/** The dashboard below a path, behind the guards: Nest asks them before each of its routes. */
export function dashboardController({ path, guards }: Pick<ResolvedAdminOptions, 'path' | 'guards'>): Type {
  // Browsers cannot send the header by which a host may tell versions apart.
  @ApiExcludeController()
  @Controller({ path, version: VERSION_NEUTRAL })
  @UseGuards(HeadersGuard, ...guards)
  class DashboardController extends DashboardRoutes {}
  return DashboardController;
}
