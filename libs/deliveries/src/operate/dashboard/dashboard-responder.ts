import { Logger } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import { codeOf } from '../../database/worker-database';
import type { Answer } from './answer';
import { errorPage, type Problem } from './pages/error-page';
import type { Page } from './pages/page';
import { loadAssets, type Assets } from './render/assets';
import { frameOf } from './render/frame';
import { compileTemplates, type Renderer } from './render/templates';
import { foreignForm, problemOf, unexpected } from './request/problems';
import { queryOfRequest, rootOf, type IncomingRequest } from './request/request';
import { formToken, whyForeign } from './request/same-site';

/** Answers requests on whatever platform the host runs on: through Nest's adapter, and past its interceptors. */
export class DashboardResponder {
  private readonly logger = new Logger('Deliveries');
  private readonly assets: Assets = loadAssets();
  private readonly render: Renderer = compileTemplates();

  constructor(private readonly host: HttpAdapterHost) {}

  /** @param depth how many parts the page's path has below the dashboard's own address */
  async page(
    request: IncomingRequest,
    response: unknown,
    depth: number,
    work: () => Answer | Promise<Answer>,
  ): Promise<void> {
    const root = rootOf(request, depth);
    try {
      this.answer(request, response, root, await work());
    } catch (error) {
      const known = problemOf(error);
      if (!known) this.logger.error(`A page of the dashboard failed: ${codeOf(error)}.`, (error as Error).stack);
      this.answer(request, response, root, problemPage(known ?? unexpected, request));
    }
  }

  /** As `page`, for what changes something: only for a form that one of these pages sent. */
  async form(request: IncomingRequest, response: unknown, depth: number, work: () => Promise<Answer>): Promise<void> {
    const why = whyForeign(request);
    await this.page(request, response, depth, () => {
      if (why === undefined) return work();
      return problemPage(foreignForm(why), request);
    });
  }

  /** @param where relative to the address of the request */
  goTo(response: unknown, where: string): void {
    this.send(response, 303, '', { Location: where });
  }

  asset(response: unknown, name: string): void {
    const asset = this.assets.byName(name);
    if (!asset) {
      this.send(response, 404, 'There is no such file.', { 'Content-Type': 'text/plain; charset=utf-8' });
      return;
    }
    // Its name changes with its content; private, since it lies behind the guards like everything here.
    const headers = { 'Cache-Control': 'private, max-age=31536000, immutable', 'Content-Type': asset.type };
    this.send(response, 200, asset.content, headers);
  }

  private answer(request: IncomingRequest, response: unknown, root: string, answer: Answer): void {
    if ('goTo' in answer) this.goTo(response, root + answer.goTo);
    else this.show(request, response, root, answer.page, answer.status ?? 200);
  }

  private show(request: IncomingRequest, response: unknown, root: string, page: Page, status: number): void {
    const { token, cookie } = formToken(request);
    const html = this.render(page.template, { ...page.model, frame: frameOf(page, this.assets, { root, token }) });
    if (cookie !== undefined) this.host.httpAdapter.appendHeader(response, 'Set-Cookie', cookie);
    this.send(response, status, html, { 'Content-Type': 'text/html; charset=utf-8' });
  }

  private send(response: unknown, status: number, body: string, headers: Readonly<Record<string, string>>): void {
    const { httpAdapter } = this.host;
    for (const [name, value] of Object.entries(headers)) httpAdapter.setHeader(response, name, value);
    httpAdapter.reply(response, body, status);
  }
}

/** A link without a path asks for the same path again, whatever prefix a proxy took off it; a form is not sent again by a link. */
const problemPage = (problem: Problem, request: IncomingRequest): Answer => ({
  page: errorPage(problem, request.method === 'GET' ? `?${queryOfRequest(request).toString()}` : undefined),
  status: problem.status,
});
