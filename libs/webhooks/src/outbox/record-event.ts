import { DedupeConflictError, type RuntimeChannel, type Transaction } from 'nest-deliveries';
import type { QueryRunner } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { WebhookCapacityError, WebhookConflictError } from '../errors';
import type { WebhookKeyring } from '../seal/keyring';
import { sealMessage } from '../seal/sealed-message';
import { checkBody } from '../sign/json-bytes';
import { checkEventKey, checkKind, messageIdOf } from '../sign/names';
import type { WebhookSigningKey } from '../sign/signing-key';
import type { NamespaceStore } from './namespace-store';
import type { WebhookConfig } from './webhook-config';

/** What became of an event. */
export interface Enqueued {
  /** The message's id, as receivers see it: of this event, or of the one that was recorded first under its key. */
  readonly id: string;
  /** The event was there already, with the same kind and bytes. */
  readonly duplicate: boolean;
  /** The signing key is an offline one: it will not really be sent. */
  readonly offline: boolean;
}

/** What recording takes of an outbox. */
export interface RecordParts {
  readonly config: WebhookConfig;
  readonly keyring: WebhookKeyring;
  readonly key: WebhookSigningKey;
  readonly store: NamespaceStore;
  readonly channel: RuntimeChannel;
}

/** An event as its caller gives it; not checked yet. */
interface GivenEvent {
  readonly key: string;
  readonly kind: string;
  readonly bytes: Uint8Array;
}

/**
 * Records an event in the caller's transaction, under its key and within the quota.
 * @throws as `WebhookOutbox.enqueue`: the transaction stays usable
 */
export async function recordEvent(parts: RecordParts, tx: Transaction, event: GivenEvent): Promise<Enqueued> {
  const { config, key, keyring, channel, store } = parts;
  const { kind } = event;
  const body = checkBody(event.bytes);
  checkKind(kind);
  const dedupeKey = key.eventKeyTag(config.namespace, checkEventKey(event.key));
  const dedupeDigest = key.contentTag(config.namespace, kind, body);
  const runner = store.connectionOf(tx);
  const { place, now } = await store.takePlace(runner);
  const first = place > config.quota ? await makeRoom(parts, runner, dedupeKey, dedupeDigest) : undefined;
  if (first) return first;
  const id = uuidv7();
  try {
    const recorded = await channel.enqueue(runner, {
      id,
      destination: config.namespace,
      lane: config.namespace,
      payload: sealMessage(keyring, config.channel, id, kind, body),
      dedupeKey,
      dedupeDigest,
      deadline: new Date(now + config.window),
    });
    const duplicate = recorded.state === 'duplicate';
    if (duplicate) await store.giveBackPlace(runner);
    return { id: messageIdOf(recorded.id), duplicate, offline: key.offline };
  } catch (error) {
    if (!(error instanceof DedupeConflictError)) throw error;
    await store.giveBackPlace(runner);
    throw new WebhookConflictError(config.namespace, messageIdOf(error.deliveryId));
  }
}

/** The namespace is full: what is there already is there all the same, and what was deleted by hand leaves room. */
async function makeRoom(
  { config, key, store }: RecordParts,
  runner: QueryRunner,
  dedupeKey: string,
  content: string,
): Promise<Enqueued | undefined> {
  const holder = await store.holderOf(runner, dedupeKey, content);
  if (!holder && (await store.recount(runner)) <= config.quota) return undefined;
  await store.giveBackPlace(runner);
  if (!holder) throw new WebhookCapacityError(config.namespace, config.quota);
  if (!holder.same) throw new WebhookConflictError(config.namespace, messageIdOf(holder.id));
  return { id: messageIdOf(holder.id), duplicate: true, offline: key.offline };
}
