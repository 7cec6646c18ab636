import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';

/** Lets in whoever sends the operator's token. */
@Injectable()
export class OperatorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: { authorization?: string }; user?: string }>();
    request.user = 'ada';
    return request.headers.authorization === 'Bearer of the token';
  }
}
