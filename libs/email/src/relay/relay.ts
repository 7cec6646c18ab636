import { MailerService } from '@nestjs-modules/mailer';
import { retry, type Outcome } from 'nest-deliveries';
import { createTransport } from 'nodemailer';
import type { Message } from '../compose/message';
import { isLoginRejected, nameOf, outcomeOf, outcomeOfReceipt, type RelayFailure } from './outcome-of';
import { transportOptions, type RelaySettings } from './transport-options';

/** What the relay made of a message. */
export interface Relayed {
  readonly outcome: Outcome;
  /** It never came to the message: the relay does not take our login. */
  readonly loginRejected: boolean;
}

/** Whether a session can be had. */
export type RelayAnswer =
  { readonly reached: true } | { readonly reached: false; readonly loginRejected: boolean; readonly reason: string };

/** Hands messages to the relay, and says what became of them in the queue's words. */
export class Relay {
  /** No provider of the application's: it would be closed at the start of a shut-down, while workers let their sends end. */
  private readonly mailer: MailerService;

  constructor(settings: RelaySettings) {
    this.mailer = new MailerService({ transport: transportOptions(settings) }, { createTransport });
  }

  /** @param signal ends the session when it aborts */
  async send(message: Message, signal: AbortSignal): Promise<Relayed> {
    const { boundary, to, ...parts } = message;
    try {
      const receipt = await this.mailer.sendMail({
        ...parts,
        to: { name: '', address: to },
        // Not read out of the headers: one address is one recipient, whatever a parser of address lists makes of it.
        envelope: { from: message.from.address, to: [to] },
        baseBoundary: boundary,
        signal,
      });
      return { outcome: outcomeOfReceipt(receipt), loginRejected: false };
    } catch (error) {
      if (signal.aborted) return { outcome: retry('timeout'), loginRejected: false };
      const failure = failureOf(error);
      return { outcome: outcomeOf(failure), loginRejected: isLoginRejected(failure) };
    }
  }

  /** Opens a session and logs in, without a message. */
  async verify(): Promise<RelayAnswer> {
    try {
      await this.mailer.getTransporter().verify();
      return { reached: true };
    } catch (error) {
      const failure = failureOf(error);
      const { responseCode } = failure;
      const reason = typeof responseCode === 'number' ? String(responseCode) : nameOf(failure);
      return { reached: false, loginRejected: isLoginRejected(failure), reason };
    }
  }

  /** Ends every session, also one in the middle of a message. */
  close(): void {
    this.mailer.getTransporter().close({ force: true });
  }
}

const failureOf = (error: unknown): RelayFailure => Object(error) as RelayFailure;
