import { isIPv4 } from 'node:net';
import { EmailOptionsError } from '../errors';

/** Where the relay is and how to log in. */
export interface RelayAddress {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps:`); otherwise STARTTLS. */
  readonly secure: boolean;
  readonly auth: { readonly user: string; readonly pass: string } | undefined;
  /** The relay is this machine: nothing that is sent leaves it. */
  readonly loopback: boolean;
}

const example = "Write, for example, 'smtp://user:password@smtp.example.com:587'";

/**
 * Reads `smtp://user:password@host:587` (STARTTLS) or `smtps://user:password@host:465` (TLS at once). What the URL could switch
 * off in other programs by its query, such as the check of certificates, is refused.
 *
 * @throws EmailOptionsError that never quotes the URL, which may hold a password
 */
export function readRelayUrl(text: string): RelayAddress {
  const refuse = (rule: string): never => {
    throw new EmailOptionsError(`EmailModule: url ${rule}. ${example}.`);
  };
  if (typeof text !== 'string' || !URL.canParse(text)) return refuse('must be the URL of an SMTP relay');
  const url = new URL(text);
  const secure = url.protocol === 'smtps:';
  if (!secure && url.protocol !== 'smtp:') return refuse('must begin with smtp:// or smtps://');
  if (url.hostname === '') return refuse('must name a host');
  if (url.search !== '' || url.hash !== '' || !['', '/'].includes(url.pathname)) {
    return refuse('must have nothing after the port: settings are options of the module');
  }
  if ((url.username === '') !== (url.password === ''))
    return refuse('must have both a user and a password, or neither');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return {
    host,
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    auth:
      url.username === '' ? undefined : { user: decoded(url.username, refuse), pass: decoded(url.password, refuse) },
    loopback: isLoopback(host),
  };
}

/** By its literal or by `localhost`, which RFC 6761 keeps for it; another name may resolve to anything. */
const isLoopback = (host: string): boolean =>
  host === '::1' || host === 'localhost' || (isIPv4(host) && host.startsWith('127.'));

function decoded(text: string, refuse: (rule: string) => never): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse('must have the special characters of user and password encoded, a % itself as %25');
  }
}
