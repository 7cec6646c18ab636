import { ForbiddenException } from '@nestjs/common';
import type { ResolvedAdminOptions } from './admin-options';

/** Who asks, and what may be shown to them. */
export interface Operator {
  readonly actor: string;
  readonly canSeePayload: boolean;
}

/** Asks the host's options who sent a request. */
export class Operators {
  constructor(private readonly options: Pick<ResolvedAdminOptions, 'actor' | 'canSeePayload'>) {}

  /** @throws ForbiddenException when nobody is known to have sent it */
  async operatorOf(request: unknown): Promise<Operator> {
    return { actor: await this.actorOf(request), canSeePayload: await this.canSeePayload(request) };
  }

  /** @throws ForbiddenException when nobody is known to have sent it: what is done is recorded with who did it */
  async actorOf(request: unknown): Promise<string> {
    const { actor } = this.options;
    const found: unknown = actor ? await actor(request) : nameOf((request as { user?: unknown }).user);
    if (typeof found === 'string' && found !== '') return found;
    throw new ForbiddenException(
      'Nothing was done: the application does not say who does it. Let a guard set request.user, or give DeliveriesModule the ' +
        'option admin.actor.',
    );
  }

  async canSeePayload(request: unknown): Promise<boolean> {
    // A host in plain JavaScript may answer with anything: only a plain yes is one.
    const answer: unknown = await this.options.canSeePayload(request);
    return answer === true;
  }
}

/** The names by which the usual strategies of authentication call a user, the most telling first. */
function nameOf(user: unknown): string | undefined {
  if (typeof user === 'string') return user;
  const { email, username, name, id, sub } = Object(user) as Record<string, unknown>;
  const found = [email, username, name, id, sub].find((each) => typeof each === 'string' || typeof each === 'number');
  return found === undefined ? undefined : String(found);
}
