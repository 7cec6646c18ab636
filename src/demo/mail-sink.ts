import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { callbackify } from 'node:util';
import { SMTPServer } from 'smtp-server';
import { readMail, type Mail } from './mail';

/** A message that was taken, in the order of arrival. */
export interface MailArrival extends Mail {
  readonly arrivedAt: number;
}

/**
 * What becomes of a message: undefined to take it if its sender is still there to hear so, `kept` to take it in any case (a relay that
 * has the message as a whole may do either), or the code of a refusal.
 */
export type MailAnswer = number | 'kept' | undefined;

/** What it says beside the code of a refusal: for nobody but its client. */
export const refusalText = '5.7.99 said in words of its own';

/** A relay on this machine that keeps what it is given. */
export interface MailSink {
  readonly url: string;
  readonly arrivals: readonly MailArrival[];
  /** What was taken for a mailbox. */
  at(address: string): MailArrival[];
  /** From now on it answers like this. At first it takes everything. */
  behave(behaviour: (mail: Mail) => Promise<MailAnswer | void> | MailAnswer | void): void;
  close(): Promise<void>;
}

export async function startMailSink(): Promise<MailSink> {
  const arrivals: MailArrival[] = [];
  const open = new Set<string>();
  let behaviour: Parameters<MailSink['behave']>[0] = () => undefined;

  const take = async (source: string, to: string, session: string): Promise<void> => {
    const mail = readMail(source, to);
    const answer = await behaviour(mail);
    if (typeof answer === 'number') throw Object.assign(new Error(refusalText), { responseCode: answer });
    if (answer === 'kept' || open.has(session)) arrivals.push({ ...mail, arrivedAt: performance.now() });
  };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    onConnect: ({ id }, done) => {
      open.add(id);
      done();
    },
    onClose: ({ id }) => void open.delete(id),
    onData: (stream, { id, envelope }, done) => {
      const taken = text(stream).then((source) =>
        Promise.all(envelope.rcptTo.map(({ address }) => take(source, address, id))),
      );
      callbackify(() => taken)((error) => (error ? done(error) : done(null, 'taken')));
    },
  });
  // The sender may be gone: killed in the middle of a message.
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    arrivals,
    at: (address) => arrivals.filter(({ to }) => to === address),
    behave: (next) => void (behaviour = next),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
