import { UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';

/** For a first try: whoever has the password, under the name that they give. An application that has users asks who they are. */
export class OperatorsGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<{ headers: { authorization?: string }; user?: object }>();
    const [name, password] = Buffer.from((request.headers.authorization ?? '').replace(/^Basic /, ''), 'base64')
      .toString()
      .split(':');
    if (password && password === process.env.OPERATORS_PASSWORD) {
      // What is done is recorded with who did it; without a name it is refused.
      request.user = { name };
      return true;
    }
    http.getResponse<{ setHeader(name: string, value: string): void }>().setHeader('WWW-Authenticate', 'Basic');
    throw new UnauthorizedException('The password is the one in OPERATORS_PASSWORD.');
  }
}
