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

const names = ['issuer', 'signingKey', 'clientsOf'] as const satisfies (keyof BackchannelLogoutOptions)[];

/** @throws BackchannelLogoutOptionsError */
export function readOptions(options: BackchannelLogoutOptions): BackchannelLogoutOptions {
  const given = options as unknown as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(given ?? {}).find((name) => !(names as readonly string[]).includes(name));
  if (unknown !== undefined) {
    refuse(
      `there is no option ${JSON.stringify(unknown)}; the nearest is ${closest(unknown, [...names])}. Correct the name.`,
    );
  }
  const issuer = given?.['issuer'];
  if (typeof issuer !== 'string' || !isIssuer(issuer)) {
    refuse(
      `issuer must be an https address without query or fragment, as your discovery document has it; got ${JSON.stringify(issuer)}. ` +
        "Write, for example, issuer: 'https://accounts.example'.",
    );
  }
  for (const name of ['signingKey', 'clientsOf'] as const) {
    if (typeof given[name] === 'function') continue;
    refuse(
      `${name} must be a function; got ${given[name] === null ? 'null' : typeof given[name]}. Its comment says what it returns.`,
    );
  }
  return options;
}

/** OpenID Connect Discovery 1.0, section 3: https, no query, no fragment. */
function isIssuer(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'https:' && !/[?#\s]/.test(text) && url.username === '' && url.password === '';
}

function refuse(sentence: string): never {
  throw new BackchannelLogoutOptionsError(`BackchannelLogoutModule: ${sentence}`);
}
