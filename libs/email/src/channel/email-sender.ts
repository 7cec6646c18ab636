import { Logger } from '@nestjs/common';
import { failed, skipped, type Attempt, type Delivery, type Outcome } from 'nest-deliveries';
import type { Composer } from '../compose/composer';
import type { Email } from '../compose/email-kind';
import type { Message } from '../compose/message';
import { InvalidEmailError } from '../errors';
import type { LoginWatch } from '../relay/login-watch';
import type { Relay } from '../relay/relay';

/** What a delivery is skipped as when there is no relay. */
export const noRelay = 'no_relay';

/** Composes messages and hands them to the relay: what an email channel sends with. */
export class EmailSender {
  private readonly logger = new Logger('Email');

  constructor(
    private readonly composer: Composer,
    private readonly relay: Relay | undefined,
    private readonly login: LoginWatch | undefined,
  ) {}

  /** False: the module has no `url`, and every delivery is skipped. */
  get hasRelay(): boolean {
    return this.relay !== undefined;
  }

  /** The message as it would be sent. @throws InvalidEmailError */
  compose(delivery: Pick<Delivery, 'id' | 'createdAt'>, message: Email): Message {
    return this.composer.compose(message, delivery);
  }

  /**
   * Sends one message, and says what became of it. Every attempt of a delivery sends the same bytes, if it is given the same
   * message.
   *
   * - `succeeded`: the relay took it
   * - `failed`: a 5xx reply, by its code; `invalid_email` for a message that cannot be made, whose reason is logged
   * - `retry`: every other reply by its code, a login that was rejected (which also pauses the relay's channels), time-outs,
   *   connections and TLS
   * - `skipped`: there is no relay
   */
  async send(delivery: Delivery, message: Email, attempt: Attempt): Promise<Outcome> {
    if (!this.relay) return skipped(noRelay);
    const composed = this.composed(delivery, message);
    if (!composed) return failed('invalid_email');
    const { outcome, loginRejected } = await this.relay.send(composed, attempt.signal);
    if (loginRejected) await this.login?.rejected();
    return outcome;
  }

  private composed(delivery: Delivery, message: Email): Message | undefined {
    try {
      return this.compose(delivery, message);
    } catch (error) {
      if (!(error instanceof InvalidEmailError)) throw error;
      this.logger.error(`Delivery ${delivery.id} of channel ${delivery.channel}: ${error.message}`);
      return undefined;
    }
  }
}
