import { UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';

/** For a first try: whoever has the password. An application that has users asks who they are. */
export class OperatorsGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const { authorization = '' } = http.getRequest<{ headers: { authorization?: string } }>().headers;
    const [, given] = Buffer.from(authorization.replace(/^Basic /, ''), 'base64')
      .toString()
      .split(':');
    if (given && given === process.env.OPERATORS_PASSWORD) return true;
    http.getResponse<{ setHeader(name: string, value: string): void }>().setHeader('WWW-Authenticate', 'Basic');
    throw new UnauthorizedException('The password is the one in OPERATORS_PASSWORD.');
  }
}
