import type { Transport } from 'nodemailer';
import SMTPPool from 'nodemailer/lib/smtp-pool';
import type { RelayAddress } from './relay-url';

/** In ms. Name, TCP, greeting and TLS together: what outbound HTTP has as well. */
const connectTimeout = 5_000;
/** In ms: relays close a session that says nothing, some after 10 s. One that we close first costs no attempt. */
const idleTimeout = 5_000;

export interface RelayTransportSettings {
  readonly relay: RelayAddress;
  readonly requireTls: boolean;
  readonly ca: string | undefined;
  readonly connections: number;
  /** In ms. */
  readonly timeout: number;
}

/**
 * nodemailer's pool of SMTP sessions, as the mailer holds it. A message is given to the relay once and never put back in line: trying
 * again is the queue's, which counts it. An attempt's signal closes the session that sends it.
 */
export class RelayTransport implements Transport {
  readonly supportsAbortSignal = true;
  readonly name = 'SMTP relay';
  readonly version: string;
  private readonly pool: SMTPPool;

  constructor({ relay, requireTls, ca, connections, timeout }: RelayTransportSettings) {
    const { host, port, secure, auth } = relay;
    this.pool = new SMTPPool({
      pool: true,
      host,
      port,
      secure,
      requireTLS: requireTls,
      // A relay on loopback often offers STARTTLS with a certificate that nobody signed.
      ignoreTLS: !requireTls,
      ...(auth && { auth }),
      tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) },
      connectionTimeout: connectTimeout,
      greetingTimeout: connectTimeout,
      dnsTimeout: connectTimeout,
      socketTimeout: timeout,
      socketCloseTimeout: 1_000,
      idleTimeout,
      maxConnections: connections,
      maxRequeues: 0,
      // Its log would hold addresses and what the relay said.
      logger: false,
      debug: false,
    });
    this.version = this.pool.version;
  }

  send(...given: Parameters<SMTPPool['send']>): void {
    this.pool.send(...given);
  }

  /** Opens a session, logs in and says goodbye. */
  verify(): Promise<true> {
    return this.pool.verify();
  }

  /**
   * Nothing. The mailer closes its transport at the very beginning of a shut-down, when workers still let their sends end;
   * {@link end} comes after them.
   */
  close(): void {}

  end(): void {
    this.pool.close({ force: true });
  }
}
