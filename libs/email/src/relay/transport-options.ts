import type SMTPPool from 'nodemailer/lib/smtp-pool';
import type { RelayAddress } from './relay-url';

/** In ms. Name, TCP, greeting and TLS together: as long as outbound HTTP gives them. */
const connectTimeout = 5_000;
/** In ms. Relays end a session that says nothing, some after 10 s; one that we end first costs no attempt. */
const idleTimeout = 5_000;

export interface RelaySettings {
  readonly relay: RelayAddress;
  readonly requireTls: boolean;
  readonly ca: string | undefined;
  readonly connections: number;
  /** How long the relay may say nothing, in ms. */
  readonly timeout: number;
}

/** How nodemailer is to reach the relay. Pure. */
export function transportOptions({ relay, requireTls, ca, connections, timeout }: RelaySettings): SMTPPool.Options & {
  readonly pool: true;
} {
  const { host, port, secure, auth } = relay;
  return {
    pool: true,
    host,
    port,
    secure,
    ...(auth && { auth }),
    requireTLS: requireTls,
    // A relay on loopback often offers STARTTLS with a certificate that nobody signed.
    ignoreTLS: !requireTls,
    // Said here, since NODE_TLS_REJECT_UNAUTHORIZED could say otherwise.
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) },
    connectionTimeout: connectTimeout,
    greetingTimeout: connectTimeout,
    dnsTimeout: connectTimeout,
    socketTimeout: timeout,
    socketCloseTimeout: 1_000,
    idleTimeout,
    maxConnections: connections,
    // Given to the relay once and never put back in line: trying again is the queue's, which counts it.
    maxRequeues: 0,
    disableFileAccess: true,
    disableUrlAccess: true,
    // Its log would hold addresses and what the relay said.
    logger: false,
    debug: false,
  };
}
