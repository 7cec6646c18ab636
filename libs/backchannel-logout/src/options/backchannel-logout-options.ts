import { closest } from 'fastest-levenshtein';
import type { EntityManager } from 'typeorm';
import { BackchannelLogoutOptionsError } from '../errors';
import type { SessionRevoked } from '../session-revoked';
import type { SigningKey } from '../token/signing-key';

/** A client that received tokens from a session that ended, and wants to be told. */
export interface LoggedOutClient {
  readonly clientId: string;
  /** Its registered `backchannel_logout_uri`. Check it at registration with `OutboundHttp.checkDestination`. */
  readonly logoutUri: string;
}

/** What `BackchannelLogoutModule` takes; nothing has a default. */
export interface BackchannelLogoutOptions {
  /** `iss` of the tokens, exactly as in the issuer's discovery document: an https address without query or fragment. */
  readonly issuer: string;
  /**
   * The key to sign with now. Asked at each attempt, so that a token is always signed with a key that the JWKS has: publish a
   * new key before this returns it.
   */
  readonly signingKey: () => SigningKey | Promise<SigningKey>;
  /**
   * Who is to be told that a session ended. Runs in the transaction that ends it: read through `tx`, and only through it. What it
   * returns is copied; changing or deleting a client afterwards changes nothing about what was recorded.
   */
  readonly clientsOf: (
    session: NonNullable<SessionRevoked['payload']>,
    tx: EntityManager,
  ) => readonly LoggedOutClient[] | Promise<readonly LoggedOutClient[]>;
}

/** Every option of the module, as the options table in the docs has it. */
export const backchannelLogoutOptionNames = [
  'issuer',
  'signingKey',
  'clientsOf',
] as const satisfies (keyof BackchannelLogoutOptions)[];

/** @throws BackchannelLogoutOptionsError for options that are no object at all */
export function requireObject<T>(options: T): T {
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return options;
  return refuse(
    `options must be an object; got ${typeOf(options)}. Write { ${backchannelLogoutOptionNames.join(', ')} }.`,
  );
}

/** @throws BackchannelLogoutOptionsError */
export function readOptions(options: BackchannelLogoutOptions): BackchannelLogoutOptions {
  const given = requireObject(options) as unknown as Readonly<Record<string, unknown>>;
  const names: readonly string[] = backchannelLogoutOptionNames;
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    refuse(
      `there is no option ${JSON.stringify(unknown)}; the nearest is "${closest(unknown, [...names, 'deliveries', 'imports'])}". Correct the name.`,
    );
  }
  const { issuer } = given;
  if (typeof issuer !== 'string' || !isIssuer(issuer)) {
    refuse(
      `issuer must be an https address without query or fragment, as your discovery document has it; got ${shownIssuer(issuer)}. ` +
        "Write, for example, issuer: 'https://accounts.example'.",
    );
  }
  for (const name of ['signingKey', 'clientsOf'] as const) {
    if (typeof given[name] === 'function') continue;
    refuse(`${name} must be a function; got ${typeOf(given[name])}. Its comment says what it returns.`);
  }
  return options;
}

/** @throws BackchannelLogoutOptionsError */
export function checkDeliveries(name: unknown): string | undefined {
  if (name === undefined || (typeof name === 'string' && name !== '')) return name;
  return refuse(
    `deliveries must be the name of a DeliveriesModule; got ${typeOf(name)}. Leave it out for the one without a name.`,
  );
}

/** OpenID Connect Discovery 1.0, section 3: https, no query, no fragment. */
function isIssuer(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'https:' && !/[?#\s]/.test(text) && url.username === '' && url.password === '';
}

/** An address that is none may have been given with a password in it. */
const shownIssuer = (issuer: unknown): string =>
  typeof issuer === 'string' ? JSON.stringify(issuer.replace(/[^/]*@/, '…@')) : typeOf(issuer);

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'a list' : `something of type ${typeof value}`;

function refuse(sentence: string): never {
  throw new BackchannelLogoutOptionsError(`BackchannelLogoutModule: ${sentence}`);
}
