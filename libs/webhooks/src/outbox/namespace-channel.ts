import {
  failed,
  retry,
  skipped,
  type Attempt,
  type Delivery,
  type Outcome,
  type RuntimeHandler,
} from 'nest-deliveries';
import type { OutboundHttp } from 'nest-deliveries/outbound-http';
import { SealBrokenError, type WebhookKeyring } from '../seal/keyring';
import { openMessage, type Message } from '../seal/sealed-message';
import { postWebhook } from '../send/post-webhook';
import { signedHeaders, type SigningKeys } from '../send/signing';
import { webhookOutcome } from '../send/webhook-outcome';
import { messageIdOf } from '../sign/names';
import type { WebhookConfig } from './webhook-config';

/** Sends what is in one namespace to its destination. */
export class NamespaceChannel implements RuntimeHandler {
  /** What receivers answered to what they accepted: for a caller who learns later that it could not be written down. */
  private readonly accepted = new WeakMap<Delivery, number>();

  constructor(
    private readonly config: WebhookConfig,
    private readonly keyring: WebhookKeyring,
    private readonly keys: SigningKeys,
    private readonly offline: boolean,
    private readonly http: OutboundHttp,
  ) {}

  async send(delivery: Delivery, attempt: Attempt): Promise<Outcome> {
    const message = this.open(delivery);
    if ('type' in message) return message;
    // Neither a name is resolved nor a socket opened.
    if (this.offline) return skipped('offline');
    const headers = signedHeaders(this.keys, { ...message, id: messageIdOf(delivery.id) }, Date.now());
    const result = await postWebhook(this.http, this.config.destination.url(), headers, message.body, attempt);
    const outcome = webhookOutcome(result);
    if (result.type === 'responded' && outcome.type === 'succeeded') this.accepted.set(delivery, result.status);
    return outcome;
  }

  /** The status with which the receiver accepted an attempt of this process; undefined when it did not. */
  statusOf(delivery: Delivery): number | undefined {
    return this.accepted.get(delivery);
  }

  private open({ id, payload }: Delivery): Message | Outcome {
    try {
      return openMessage(this.keyring, this.config.channel, id, payload);
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error;
      // The key may come back; what is not authentic never will be.
      return error.reason === 'unknown_key' ? retry('storage_key_missing') : failed('seal_broken');
    }
  }
}
