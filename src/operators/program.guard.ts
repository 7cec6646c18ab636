import { ForbiddenException, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { OperatorGuard } from './operator.guard';

/** The operators' door; without a token there is none. */
export class OperatorDoor {
  readonly guard: OperatorGuard | undefined;

  constructor(token: string | undefined) {
    this.guard = token === undefined ? undefined : new OperatorGuard(token);
  }
}

/**
 * For the operators' own API: the token as `authorization: Bearer`, and not the login that a browser repeats by itself, with which
 * another site's form could act in an operator's name.
 */
@Injectable()
export class ProgramGuard implements CanActivate {
  constructor(private readonly door: OperatorDoor) {}

  canActivate(context: ExecutionContext): boolean {
    const { guard } = this.door;
    if (!guard) throw new ForbiddenException('OPERATOR_TOKEN is not set, so nobody is an operator here.');
    const { headers } = context.switchToHttp().getRequest<{ headers: { authorization?: string } }>();
    if (headers.authorization !== undefined && !/^bearer /i.test(headers.authorization)) {
      throw new ForbiddenException('Send the operators’ token as authorization: Bearer <token>.');
    }
    return guard.canActivate(context);
  }
}
