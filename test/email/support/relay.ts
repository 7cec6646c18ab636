import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** A reply with a code, whose text nobody but the relay and its client may ever see. */
export const reply = (code: number): Error & { responseCode: number } =>
  Object.assign(new Error(replyText), { responseCode: code });

/** Stands in every reply that is not a success. */
export const replyText = '5.7.99 CANARY-REPLY for <ada@example.com>';

/** A real SMTP server with mailboxes. */
export interface TestRelay {
  readonly port: number;
  /** The messages that arrived, as they came, by recipient. */
  readonly mailboxes: ReadonlyMap<string, string[]>;
  readonly logins: number;
  received(recipient: string): string[];
  close(): Promise<void>;
}

/** What a relay says to whom; `undefined` for yes. */
export interface RelayRules {
  onLogin?: (user: string, password: string) => number | undefined;
  onRecipient?: (recipient: string) => number | undefined;
  onMessage?: (recipients: string[]) => number | undefined;
}

/** Starts one on a free port of loopback. Without `options.onAuth` anybody may log in, and nobody has to. */
export async function startRelay(rules: RelayRules = {}, options: SMTPServerOptions = {}): Promise<TestRelay> {
  const mailboxes = new Map<string, string[]>();
  let logins = 0;
  const server = new SMTPServer({
    authOptional: !rules.onLogin,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    // Without a certificate of ours there is no TLS.
    disabledCommands: [...(rules.onLogin ? [] : ['AUTH']), ...(options.cert ? [] : ['STARTTLS'])],
    onAuth: ({ username, password }, _session, done) => {
      logins += 1;
      const code = rules.onLogin?.(username ?? '', password ?? '');
      if (code === undefined) done(null, { user: username ?? '' });
      else done(reply(code));
    },
    onRcptTo: ({ address }, _session, done) => {
      const code = rules.onRecipient?.(address);
      done(code === undefined ? null : reply(code));
    },
    onData: (stream, { envelope }, done) => {
      stream.setEncoding('utf8');
      let message = '';
      stream.on('data', (chunk: string) => (message += chunk));
      stream.on('end', () => {
        const recipients = envelope.rcptTo.map(({ address }) => address);
        const code = rules.onMessage?.(recipients);
        if (code !== undefined) return done(reply(code));
        for (const recipient of recipients) {
          mailboxes.set(recipient, [...(mailboxes.get(recipient) ?? []), message]);
        }
        return done(null, 'taken');
      });
    },
    ...options,
  });
  // A client that ends a session in the middle of a handshake.
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    mailboxes,
    get logins() {
      return logins;
    },
    received: (recipient) => mailboxes.get(recipient) ?? [],
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
