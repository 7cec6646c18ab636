import { randomBytes } from 'node:crypto';
import type { DeliveriesOptions } from 'nest-deliveries';
import type { OutboundHttpOptions } from 'nest-deliveries/outbound-http';

/** What the application is started with. */
export interface Configuration {
  readonly databaseUrl: string;
  /** Tells processes of one application apart. */
  readonly replica: string;
  /** What operators show at the door; without it there is no door. */
  readonly operatorToken?: string | undefined;
  readonly deliveries?: DeliveriesOptions;
  readonly outboundHttp?: OutboundHttpOptions;
}

/** The name of this process among those that share a database. */
export class ReplicaName {
  constructor(readonly name: string) {}
}

/** What the environment says: `DATABASE_URL`, `PORT`, `REPLICA` and `OPERATOR_TOKEN`. */
export interface Environment {
  /** Undefined: start a PostgreSQL of our own. */
  readonly databaseUrl: string | undefined;
  readonly port: number;
  readonly replica: string;
  /** A new one for each start, unless the environment has one; undefined in production without one: no door. */
  readonly operatorToken: string | undefined;
}

/** @throws RangeError that names the variable, the rule and what it got */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const { DATABASE_URL: databaseUrl, PORT: port = '3000', REPLICA: replica = '1' } = env;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new RangeError(`PORT must be a number from 0 to 65535; got ${JSON.stringify(port)}.`);
  }
  if (!/^[\w.-]{1,40}$/.test(replica)) {
    throw new RangeError(`REPLICA must be 1 to 40 letters, digits, _ . or -; got ${JSON.stringify(replica)}.`);
  }
  return { databaseUrl: databaseUrl || undefined, port: Number(port), replica, operatorToken: operatorToken(env) };
}

function operatorToken({ OPERATOR_TOKEN: token, NODE_ENV }: NodeJS.ProcessEnv): string | undefined {
  if (!token) return NODE_ENV === 'production' ? undefined : randomBytes(12).toString('base64url');
  if (/^[\w.~+/=-]{16,200}$/.test(token)) return token;
  // Not with the token in it: this ends up in logs.
  throw new RangeError(
    'OPERATOR_TOKEN must be 16 to 200 letters, digits, _ . ~ + / = or -; it opens the operators’ routes.',
  );
}
