import {
  DeliveryChannel,
  failed,
  retry,
  succeeded,
  type Attempt,
  type ChannelHandler,
  type Delivery,
  type DeliveryDraft,
  type DeliveryEvent,
  type Outcome,
} from 'nest-deliveries';
import { once } from 'node:events';

export interface Letter {
  readonly text: string;
}

/** What a letter's receiver does: `ok`, a status code, or nothing until the attempt is aborted. */
type Manner = 'ok' | 'silent' | `${number}`;

/** A channel whose receivers behave as a test says, destination by destination. */
abstract class Post implements ChannelHandler<Letter> {
  readonly sent: { id: string; destination: string; attempt: number }[] = [];
  readonly manners = new Map<string, Manner>();

  /** An event `written` causes a delivery for each draft in it. */
  deliveries({ type, payload }: DeliveryEvent): DeliveryDraft<Letter>[] {
    return type === `${this.word}_written` ? (payload as DeliveryDraft<Letter>[]) : [];
  }

  async send({ id, destination }: Delivery<Letter>, { number, signal }: Attempt): Promise<Outcome> {
    this.sent.push({ id, destination, attempt: number });
    const manner = this.manners.get(destination) ?? 'ok';
    if (manner === 'silent' && !signal.aborted) await once(signal, 'abort');
    if (manner === 'ok') return succeeded();
    return /^4/.test(manner) ? failed(manner) : retry(manner === 'silent' ? 'timeout' : manner);
  }

  protected abstract readonly word: string;
}

@DeliveryChannel({ name: 'letters', maxAge: '7d' })
export class LettersChannel extends Post {
  protected readonly word = 'letters';
}

@DeliveryChannel({ name: 'parcels', maxAge: '7d' })
export class ParcelsChannel extends Post {
  protected readonly word = 'parcels';
}
