import { DeliveryStateError, type DeliveryOperations, type Transaction } from 'nest-deliveries';
import type { OutboundHttp } from 'nest-deliveries/outbound-http';
import { WebhookClosedError, WebhookInputError, WebhookNotFoundError, WebhookStateError } from '../errors';
import { openMessage } from '../seal/sealed-message';
import { checkWorker, deliveryIdOf, messageIdOf } from '../sign/names';
import { Redacted } from '../sign/redacted';
import { dispatchedOf, type Dispatched } from './dispatched';
import type { NamespaceChannel } from './namespace-channel';
import { recordEvent, type Enqueued, type RecordParts } from './record-event';

/** The little that is told of what failed. */
export interface FailedEvent {
  readonly id: string;
  readonly kind: string;
  readonly attempts: number;
  /** A status code or a kind of error. */
  readonly code: string;
  readonly failedAt: Date;
}

/** Parts of an outbox, put together by `WebhookOutboxes`. */
export interface OutboxParts extends RecordParts {
  readonly handler: NamespaceChannel;
  readonly operations: DeliveryOperations;
  readonly http: OutboundHttp;
  readonly onClose: () => void;
}

/** At most so many rows in one call. */
const mostRows = 100;

/**
 * The outbox of one namespace: events for one receiver, recorded in the caller's transaction, sealed, sent with a signature, at
 * least once, within a window.
 *
 * It grants nobody anything: authorize whoever publishes, cancels or looks, before.
 */
export class WebhookOutbox extends Redacted {
  readonly #parts: OutboxParts;
  #closing: Promise<void> | undefined;

  constructor(parts: OutboxParts) {
    super();
    this.#parts = parts;
  }

  get namespace(): string {
    return this.#parts.config.namespace;
  }

  /** Nothing is really sent: the signing key is an offline one. */
  get offline(): boolean {
    return this.#parts.key.offline;
  }

  /**
   * Records an event in the caller's transaction: it is sent if and when that commits. The namespace stays locked until then, so
   * enqueue last in a long transaction.
   *
   * @param tx the `EntityManager` or `QueryRunner` of an open transaction
   * @param eventKey the application's own name of what happened, such as `completion/42/v1`: 1 to 255 of `A-Z a-z 0-9 . _ : / -`.
   *   The same key with the same kind and bytes records nothing and gives the first id. Only an HMAC of it is stored
   * @param kind 1 to 128 of `A-Z a-z 0-9 . _ : -`
   * @param bytes one valid JSON text in UTF-8, 65,536 bytes at most; sent exactly so
   * @throws WebhookInputError, WebhookConflictError, WebhookCapacityError, WebhookBusyError, WebhookClosedError,
   *   TransactionRequiredError: the transaction stays usable
   */
  async enqueue(tx: Transaction, eventKey: string, kind: string, bytes: Uint8Array): Promise<Enqueued> {
    return recordEvent(this.#open(), tx, { key: eventKey, kind, bytes });
  }

  /**
   * Sends one event by hand, in the place of the workers: claims it for 30 seconds, resolves the destination, asks the database
   * whether it is still to be sent, sends it, and writes the outcome down.
   *
   * @param worker who does this, for the errors: 1 to 128 of `A-Z a-z 0-9 . _ : -`
   * @throws WebhookAcknowledgementError, WebhookClaimLostError, WebhookInputError, WebhookClosedError; the driver's error when
   *   nothing could be claimed
   */
  async dispatchNext(worker: string): Promise<Dispatched> {
    const { channel, handler } = this.#open();
    checkWorker(worker);
    const delivered = await channel.sendNext();
    return dispatchedOf(delivered, this.offline, delivered && handler.statusOf(delivered.delivery));
  }

  /**
   * Gives an event up for good, whether it waits, is being sent or has failed. An attempt under way cannot be recalled, but whatever
   * it reports is dropped.
   *
   * @param options.actor who does this, for the audit trail. Default `webhooks`
   * @throws WebhookNotFoundError, WebhookStateError, WebhookInputError, WebhookClosedError
   */
  async cancel(messageId: string, options: { actor?: string } = {}): Promise<void> {
    await this.#operate(messageId, (id) => this.#parts.operations.cancel(id, actorOf(options)));
  }

  /**
   * Gives a failed event a new set of attempts, with its id and its original deadline; never one that was cancelled, accepted or
   * purged, or whose window is over.
   *
   * @param options.actor who does this, for the audit trail. Default `webhooks`
   * @throws WebhookNotFoundError, WebhookStateError, WebhookInputError, WebhookClosedError
   */
  async retryFailed(messageId: string, options: { actor?: string } = {}): Promise<void> {
    await this.#operate(messageId, (id) => this.#parts.operations.retry(id, actorOf(options)));
  }

  /**
   * What failed, newest first: never a payload or a destination.
   * @param limit 1 to 100
   * @throws WebhookInputError, WebhookClosedError
   */
  async failed(limit = mostRows): Promise<FailedEvent[]> {
    const { store, keyring, config } = this.#open();
    const found = await store.failed(checkLimit(limit));
    return found.map(({ id, payload, attempts, last_error: code, settled_at: failedAt }) => {
      const { kind } = openMessage(keyring, config.channel, id, payload);
      return { id: messageIdOf(id), kind, attempts, code, failedAt };
    });
  }

  /**
   * Deletes events that have ended, oldest first, and with them the proof that they were recorded: their keys are free again.
   *
   * @param createdBefore at least one window ago, by the database's clock
   * @param limit 1 to 100
   * @returns how many were deleted
   * @throws WebhookInputError, WebhookClosedError
   */
  async purgeTerminal(createdBefore: Date, limit = mostRows): Promise<number> {
    const { store, config } = this.#open();
    checkLimit(limit);
    if (!(createdBefore instanceof Date) || Number.isNaN(createdBefore.getTime())) {
      throw new WebhookInputError('cutoff', 'a valid Date');
    }
    const purged = await store.purgeTerminal(createdBefore, limit, config.window);
    if (purged === undefined) throw new WebhookInputError('cutoff', 'at least one delivery window ago');
    return purged;
  }

  /** Ends this outbox in this process: other processes go on. Resolves when nothing of it is being sent here any more. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  protected describe(): string {
    return this.namespace;
  }

  async #operate(messageId: string, operation: (deliveryId: string) => Promise<unknown>): Promise<void> {
    const { store } = this.#open();
    const id = deliveryIdOf(messageId);
    if (!(await store.has(id))) throw new WebhookNotFoundError(`message ${messageId} in namespace "${this.namespace}"`);
    try {
      await operation(id);
    } catch (error) {
      if (!(error instanceof DeliveryStateError)) throw error;
      throw new WebhookStateError(`Message ${messageId} is ${error.status}. ${error.reason}`, { cause: error });
    }
  }

  #open(): OutboxParts {
    if (this.#closing) throw new WebhookClosedError(this.namespace);
    return this.#parts;
  }

  async #close(): Promise<void> {
    this.#parts.onClose();
    await this.#parts.channel.close();
    this.#parts.http.close();
  }
}

const actorOf = ({ actor = 'webhooks' }: { actor?: string }): { actor: string } => ({ actor });

function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= mostRows) return limit;
  throw new WebhookInputError('limit', `a whole number from 1 to ${mostRows}`);
}
