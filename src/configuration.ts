import { randomBytes } from 'node:crypto';
import type { DeliveriesOptions } from 'nest-deliveries';
import type { EmailOptions, Sender } from 'nest-deliveries/email';
import type { OutboundHttpOptions } from 'nest-deliveries/outbound-http';
import { readSecrets, type Secrets } from './secrets';

/** What the application is started with. */
export interface Configuration {
  readonly databaseUrl: string;
  /** Tells processes of one application apart. */
  readonly replica: string;
  /** What operators show at the door; without it there is no door. */
  readonly operatorToken?: string | undefined;
  /** Where people reach the application, without a trailing slash: links in emails lead there. Default: port 3000 of this machine. */
  readonly publicUrl?: string;
  /** Default: new ones, which make links and tokens of an earlier start worthless. */
  readonly secrets?: Secrets;
  /** Whether anybody can sign in as anybody; refused in production. Default off. */
  readonly testLogin?: boolean;
  /** The relay, and who emails are from. Without a `url` every email is dropped. */
  readonly email?: Partial<Pick<EmailOptions, 'url' | 'from' | 'ca' | 'timeout' | 'connections'>>;
  readonly deliveries?: DeliveriesOptions;
  readonly outboundHttp?: OutboundHttpOptions;
}

/** The name of this process among those that share a database. */
export class ReplicaName {
  constructor(readonly name: string) {}
}

/**
 * What the environment says: `DATABASE_URL`, `PORT`, `REPLICA`, `OPERATOR_TOKEN`, `PUBLIC_URL`, `SECRETS`, `SMTP_URL`, `MAIL_FROM` and
 * `TEST_LOGIN`.
 */
export interface Environment {
  /** Undefined: start a PostgreSQL of our own. */
  readonly databaseUrl: string | undefined;
  readonly port: number;
  readonly replica: string;
  /** A new one for each start, unless the environment has one; undefined in production without one: no door. */
  readonly operatorToken: string | undefined;
  readonly publicUrl: string;
  /** Undefined, which production does not allow: those of this machine. */
  readonly secrets: Secrets | undefined;
  readonly testLogin: boolean;
  readonly email: { readonly url: string | undefined; readonly from: Sender };
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
  return {
    databaseUrl: databaseUrl || undefined,
    port: Number(port),
    replica,
    operatorToken: operatorToken(env),
    publicUrl: publicUrl(env, port),
    secrets: secrets(env),
    testLogin: testLogin(env),
    email: { url: env.SMTP_URL || undefined, from: sender(env) },
  };
}

const inProduction = ({ NODE_ENV }: NodeJS.ProcessEnv): boolean => NODE_ENV === 'production';

function publicUrl(env: NodeJS.ProcessEnv, port: string): string {
  const given = env.PUBLIC_URL;
  if (!given && !inProduction(env)) return `http://localhost:${port}`;
  const url = URL.canParse(given ?? '') ? new URL(given!) : undefined;
  const fits = url && (url.protocol === 'https:' || !inProduction(env)) && !url.search && !url.hash && !url.username;
  if (fits && /^https?:$/.test(url.protocol)) return given!.replace(/\/+$/, '');
  throw new RangeError(
    `PUBLIC_URL must be an https address without query; got ${JSON.stringify(given)}. Links in emails lead there.`,
  );
}

function secrets(env: NodeJS.ProcessEnv): Secrets | undefined {
  if (env.SECRETS) return readSecrets(env.SECRETS);
  if (!inProduction(env)) return undefined;
  throw new RangeError(
    'SECRETS must be set in production: links and logout tokens are made with them, in each replica alike.',
  );
}

function testLogin(env: NodeJS.ProcessEnv): boolean {
  const { TEST_LOGIN: given = inProduction(env) ? 'off' : 'on' } = env;
  if (given === 'off') return false;
  if (given === 'on' && !inProduction(env)) return true;
  throw new RangeError(`TEST_LOGIN must be on or off, and off in production; got ${JSON.stringify(given)}.`);
}

/** `Name <local@domain>` */
function sender({ MAIL_FROM: given = 'Reference application <accounts@localhost>' }: NodeJS.ProcessEnv): Sender {
  const [, name, address] = /^([^<>]{1,80}?) ?<([^<>]+)>$/.exec(given) ?? [];
  if (name && address) return { name, address };
  throw new RangeError(`MAIL_FROM must be like Name <local@domain>; got ${JSON.stringify(given)}.`);
}

function operatorToken({ OPERATOR_TOKEN: token, NODE_ENV }: NodeJS.ProcessEnv): string | undefined {
  if (!token) return NODE_ENV === 'production' ? undefined : randomBytes(12).toString('base64url');
  if (/^[\w.~+/=-]{16,200}$/.test(token)) return token;
  // Not with the token in it: this ends up in logs.
  throw new RangeError(
    'OPERATOR_TOKEN must be 16 to 200 letters, digits, _ . ~ + / = or -; it opens the operators’ routes.',
  );
}
