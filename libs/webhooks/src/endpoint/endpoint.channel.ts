import {
  DeliveryChannel,
  failed,
  retry,
  type Attempt,
  type ChannelHandler,
  type Delivery,
  type DeliveryDraft,
  type DeliveryEvent,
  type Outcome,
  type RuntimeChannels,
} from 'nest-deliveries';
import type { OutboundHttp } from 'nest-deliveries/outbound-http';
import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { SealBrokenError, type Sealed, type WebhookKeyring } from '../seal/keyring';
import { openMessage, sealMessage } from '../seal/sealed-message';
import { postWebhook } from '../send/post-webhook';
import { signedHeaders } from '../send/signing';
import { webhookOutcome } from '../send/webhook-outcome';
import { checkBody } from '../sign/json-bytes';
import { checkKind, messageIdOf } from '../sign/names';
import type { EndpointHealth } from './endpoint-health';
import { openContent, type EndpointRow } from './endpoint-row';
import { keysOf } from './endpoint-secrets';
import { readEndpointSql, subscribedSql } from './endpoint.sql';

/** Something that a tenant's endpoints are told. */
export interface TenantMessage {
  readonly tenant: string;
  readonly kind: string;
  /** One valid JSON text in UTF-8, 65,536 bytes at most; sent exactly so. */
  readonly body: Uint8Array;
}

/** Which messages an event causes. Reads through `tx`, and only through it. */
export type MessagesOf = (
  event: DeliveryEvent,
  tx: EntityManager,
) => readonly TenantMessage[] | Promise<readonly TenantMessage[]>;

interface EndpointRecipient {
  readonly tenant: string;
  readonly endpointId: string;
}

export type EndpointDraft = DeliveryDraft<Sealed, EndpointRecipient>;

/** The name of the channel of all tenants' endpoints; its lanes are the endpoints' ids. */
export const endpointChannel = 'webhooks';

/** Sends tenants' messages to the endpoints that they registered: where these are, and with what they are signed, when it sends. */
@DeliveryChannel({
  name: endpointChannel,
  maxAge: '3d',
  sendTimeout: '10s',
  lease: '30s',
  retry: { first: '10s', max: '6h' },
})
export class EndpointChannel implements ChannelHandler<Sealed, EndpointRecipient> {
  constructor(
    private readonly channels: RuntimeChannels,
    private readonly keyring: WebhookKeyring,
    private readonly http: OutboundHttp,
    private readonly health: EndpointHealth,
    private readonly messagesOf: MessagesOf | undefined,
  ) {}

  async deliveries(event: DeliveryEvent, tx: EntityManager): Promise<EndpointDraft[]> {
    const drafts: EndpointDraft[] = [];
    for (const message of (await this.messagesOf?.(event, tx)) ?? []) drafts.push(...(await this.drafts(tx, message)));
    return drafts;
  }

  /** One for each endpoint of the tenant that is told of the kind. @throws WebhookInputError */
  async drafts(tx: Pick<EntityManager, 'query'>, { tenant, kind, body }: TenantMessage): Promise<EndpointDraft[]> {
    checkKind(kind);
    const bytes = checkBody(body);
    const endpoints = await tx.query<{ id: string }[]>(subscribedSql(this.channels.schema), [tenant, kind]);
    return endpoints.map(({ id }) => this.draft({ id, tenant }, kind, bytes));
  }

  draft({ id: endpointId, tenant }: { id: string; tenant: string }, kind: string, body: Uint8Array): EndpointDraft {
    const id = uuidv7();
    return {
      id,
      destination: `endpoint ${endpointId}`,
      lane: endpointId,
      recipient: { tenant, endpointId },
      payload: sealMessage(this.keyring, endpointChannel, id, kind, body),
    };
  }

  async send(delivery: Delivery<Sealed, EndpointRecipient>, attempt: Attempt): Promise<Outcome> {
    const endpoint = await this.read(delivery.lane!);
    // Nothing is sent in vain, and nothing comes back to look again: what ended here can be retried, by range, when it is enabled.
    if (!endpoint) return failed('endpoint_deleted');
    if (endpoint.status === 'disabled') return failed('endpoint_disabled');
    const outcome = await this.sendTo(endpoint, delivery, attempt);
    await this.health.note(endpoint, outcome, endpoint.now);
    return outcome;
  }

  private async sendTo(
    endpoint: EndpointRow & { now: number },
    { id, payload }: Delivery<Sealed>,
    attempt: Attempt,
  ): Promise<Outcome> {
    try {
      const message = openMessage(this.keyring, endpointChannel, id, payload);
      const { url, secrets } = openContent(this.keyring, endpoint);
      const keys = keysOf(secrets, endpoint.schemes, endpoint.now);
      const headers = signedHeaders(keys, { ...message, id: messageIdOf(id) }, Date.now());
      return webhookOutcome(await postWebhook(this.http, url, headers, message.body, attempt));
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error;
      return error.reason === 'unknown_key' ? retry('storage_key_missing') : failed('seal_broken');
    }
  }

  private async read(id: string): Promise<(EndpointRow & { now: number }) | undefined> {
    const { dataSource, schema } = this.channels;
    const [row] = await dataSource.query<(EndpointRow & { now: number })[]>(readEndpointSql(schema), [id]);
    return row;
  }
}
