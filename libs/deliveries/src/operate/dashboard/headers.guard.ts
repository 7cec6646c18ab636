import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

/** Nothing but this package's own script and sheet, from where the page came from; shown in no frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const headers = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': policy,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  // `no-referrer` would make browsers send forms with the origin `null`.
  'Referrer-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
} as const;

/** Stands before the host's guards, so that what they answer is kept by nobody either. */
@Injectable()
export class HeadersGuard implements CanActivate {
  constructor(private readonly host: HttpAdapterHost) {}

  canActivate(context: ExecutionContext): boolean {
    const response: unknown = context.switchToHttp().getResponse();
    for (const [name, value] of Object.entries(headers)) this.host.httpAdapter.setHeader(response, name, value);
    return true;
  }
}
