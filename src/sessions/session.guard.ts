import {
  createParamDecorator,
  Injectable,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { tokenDigest } from '../links/link-tokens';

/** A session that has not ended. */
export interface Session {
  readonly id: string;
  readonly accountId: string;
  /** The passkey that it was begun with. */
  readonly passkeyId: string | null;
}

interface Request {
  readonly headers: { readonly authorization?: string };
  session?: Session;
}

/** Lets in whoever brings the token of a session: `authorization: Bearer <token>`. */
@Injectable()
export class SessionGuard implements CanActivate {
  constructor(private readonly dataSource: DataSource) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const [, token] = /^Bearer ([\w-]{43})$/i.exec(request.headers.authorization ?? '') ?? [];
    const session = token === undefined ? undefined : await this.sessionOf(token);
    if (!session)
      throw new UnauthorizedException('Sign in first: this needs the token of a session that has not ended.');
    request.session = session;
    return true;
  }

  private async sessionOf(token: string): Promise<Session | undefined> {
    const [row] = await this.dataSource.query<Session[]>(
      `SELECT s.id, s.account_id AS "accountId", s.passkey_id AS "passkeyId"
         FROM sessions s JOIN accounts a ON a.id = s.account_id
        WHERE s.token_digest = $1 AND s.expires_at > now() AND a.status = 'active'`,
      [tokenDigest(token)],
    );
    return row;
  }
}

/** The session of a request that {@link SessionGuard} let in. */
export const SignedIn = createParamDecorator(
  (_: unknown, context: ExecutionContext): Session => context.switchToHttp().getRequest<Required<Request>>().session,
);
