import { UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { AdminOptions } from 'nest-deliveries';
import { createHash, timingSafeEqual } from 'node:crypto';

interface Request {
  readonly headers: { readonly authorization?: string };
  readonly res: { setHeader(name: string, value: string): unknown };
  user?: { readonly name: string };
}

/**
 * Lets in whoever knows the token: a browser asks its user for a name, which is what the audit trail says then, and for the
 * token as password; a program sends `authorization: Bearer <token>`. For trying things out: an application that serves people
 * has users, and a guard that asks who they are.
 */
export class OperatorGuard implements CanActivate {
  constructor(private readonly token: string) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const { name, secret } = credentialsOf(request.headers.authorization);
    if (!sameText(secret, this.token)) {
      request.res.setHeader('WWW-Authenticate', 'Basic realm="operators", charset="UTF-8"');
      throw new UnauthorizedException(
        'The password is the operators’ token, which the application prints at its start.',
      );
    }
    request.user = { name };
    return true;
  }
}

/** The operators' routes, with everything to be seen by whoever knows the token. */
export const operatorRoutes = (token: string): AdminOptions => ({
  guards: [new OperatorGuard(token)],
  canSeePayload: () => true,
});

function credentialsOf(header = ''): { name: string; secret: string } {
  const [scheme, value = ''] = header.split(' ', 2);
  if (scheme?.toLowerCase() === 'bearer') return { name: 'a program with the token', secret: value };
  if (scheme?.toLowerCase() !== 'basic') return { name: '', secret: '' };
  const [name = '', ...secret] = Buffer.from(value, 'base64').toString('utf8').split(':');
  return { name: name.slice(0, 200) || 'somebody with the token', secret: secret.join(':') };
}

/** In a time that says nothing of where they differ. */
const sameText = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
