import type { Type } from '@nestjs/common';
import type {
  BulkCount,
  BulkReport,
  DeliveryOperations,
  DeliveryRecorder,
  RuntimeChannels,
  Transaction,
} from 'nest-deliveries';
import type { OutboundHttp } from 'nest-deliveries/outbound-http';
import { v7 as uuidv7 } from 'uuid';
import { WebhookInputError, WebhookStateError } from '../errors';
import type { WebhookKeyring } from '../seal/keyring';
import { checkBody } from '../sign/json-bytes';
import { messageIdOf } from '../sign/names';
import { checkKinds, checkSchemes, checkTenant, requireId } from './check-endpoint';
import type { EndpointChannel, TenantMessage } from './endpoint.channel';
import { endpointOf, openContent, sealContent, type EndpointRow, type WebhookEndpoint } from './endpoint-row';
import {
  liveSecrets,
  mostSecrets,
  newSecret,
  shownOf,
  type EndpointScheme,
  type ShownSecrets,
} from './endpoint-secrets';
import { EndpointStore } from './endpoint-store';
import {
  deleteEndpointSql,
  disableEndpointSql,
  enableEndpointSql,
  insertEndpointSql,
  listEndpointsSql,
  updateEndpointSql,
} from './endpoint.sql';
import { asInput, conditionsOf, type CountedRetryOptions, type FailedRange } from './failed-range';

/** What a tenant registers. */
export interface NewEndpoint {
  readonly tenant: string;
  /** A public HTTPS address. Stored sealed. */
  readonly url: string;
  /** Kinds of events, or `*` for all: 1 to 100 of them. */
  readonly kinds: readonly string[];
  /** Default `['standard']`. */
  readonly schemes?: readonly EndpointScheme[];
}

/** The kind of the message that a test sends. */
export const testKind = 'webhook.test';

const longestOverlap = 30 * 86_400_000;
const pageSize = 100;

/**
 * Endpoints that tenants register. Every call names the tenant, and sees nothing of another's; that the caller may speak for it is
 * the host's to know.
 */
export class WebhookEndpoints {
  private readonly store: EndpointStore;
  /** That of the `DeliveriesModule` it belongs to. */
  private readonly channelClass: Type<EndpointChannel>;

  constructor(
    private readonly channels: RuntimeChannels,
    private readonly recorder: DeliveryRecorder,
    private readonly operations: DeliveryOperations,
    private readonly channel: EndpointChannel,
    private readonly keyring: WebhookKeyring,
    private readonly http: OutboundHttp,
  ) {
    this.store = new EndpointStore(channels);
    this.channelClass = channel.constructor as Type<EndpointChannel>;
  }

  /**
   * @returns the endpoint, and its secrets, which are never shown again
   * @throws WebhookInputError
   */
  async register({
    tenant,
    url,
    kinds,
    schemes = ['standard'],
  }: NewEndpoint): Promise<{ endpoint: WebhookEndpoint; secrets: ShownSecrets }> {
    checkTenant(tenant);
    this.checkUrl(url);
    checkKinds(kinds);
    checkSchemes(schemes);
    const id = uuidv7();
    const secret = newSecret();
    const sealed = sealContent(this.keyring, id, tenant, { url, secrets: [secret] });
    const [row] = await this.store.transaction((tx) =>
      tx.query<[EndpointRow]>(insertEndpointSql(this.store.schema), [id, tenant, kinds, schemes, sealed]),
    );
    return { endpoint: endpointOf(row), secrets: shownOf(secret, schemes) };
  }

  /** A tenant's endpoints, 100 at a time. @param after the last id of the page before */
  async list(tenant: string, after = '00000000-0000-0000-0000-000000000000'): Promise<WebhookEndpoint[]> {
    checkTenant(tenant);
    const rows = await this.store.transaction((tx) =>
      tx.query<EndpointRow[]>(listEndpointsSql(this.store.schema), [tenant, requireId(after), pageSize]),
    );
    return rows.map(endpointOf);
  }

  /** One of a tenant's, with its URL. @throws WebhookNotFoundError */
  async get(tenant: string, id: string): Promise<WebhookEndpoint & { readonly url: string }> {
    return this.store.change(tenant, id, async (row) => ({
      ...endpointOf(row),
      url: openContent(this.keyring, row).url,
    }));
  }

  /**
   * Another URL, or other kinds. What waits is sent to the new URL: where a message goes is decided when it is sent.
   * @throws WebhookNotFoundError, WebhookInputError
   */
  async update(tenant: string, id: string, changes: { url?: string; kinds?: readonly string[] }): Promise<void> {
    if (changes.url !== undefined) this.checkUrl(changes.url);
    if (changes.kinds !== undefined) checkKinds(changes.kinds);
    await this.store.change(tenant, id, async (row, tx) => {
      const content = openContent(this.keyring, row);
      const sealed = sealContent(this.keyring, id, tenant, { ...content, url: changes.url ?? content.url });
      await tx.query(updateEndpointSql(this.store.schema), [id, changes.kinds ?? row.kinds, sealed]);
    });
  }

  /**
   * Makes a new secret. The old one stays good for the overlap: Standard Webhooks requests carry a signature of each; those of
   * `rullst-v1`, which carry one, are signed with the old one until then.
   *
   * @param options `overlap` in ms, 0 to 30 days. Default a day
   * @returns the new secrets, which are never shown again
   * @throws WebhookNotFoundError, WebhookInputError, WebhookStateError
   */
  async rotateSecret(tenant: string, id: string, { overlap = 86_400_000 } = {}): Promise<ShownSecrets> {
    if (!(overlap >= 0 && overlap <= longestOverlap)) throw new WebhookInputError('overlap', '0 ms to 30 days');
    return this.store.change(tenant, id, async (row, tx) => {
      const { url, secrets } = openContent(this.keyring, row);
      const live = liveSecrets(secrets, row.now);
      if (live.length >= mostSecrets) {
        throw new WebhookStateError(
          `Endpoint ${id} has ${mostSecrets} secrets that are still good. Wait until one runs out, or rotate with a shorter overlap next time.`,
        );
      }
      const secret = newSecret();
      const runningOut = live.map((old) => ({ ...old, expiresAt: old.expiresAt ?? row.now + overlap }));
      const sealed = sealContent(this.keyring, id, tenant, { url, secrets: [secret, ...runningOut] });
      await tx.query(updateEndpointSql(this.store.schema), [id, row.kinds, sealed]);
      return shownOf(secret, row.schemes);
    });
  }

  /** What is due meanwhile fails as `endpoint_disabled`, without a send. @throws WebhookNotFoundError */
  async disable(tenant: string, id: string): Promise<void> {
    await this.store.change(tenant, id, (_, tx) => tx.query(disableEndpointSql(this.store.schema), [id, 'operator']));
  }

  /** What failed meanwhile stays failed until somebody retries it. @throws WebhookNotFoundError */
  async enable(tenant: string, id: string): Promise<void> {
    await this.store.change(tenant, id, (_, tx) => tx.query(enableEndpointSql(this.store.schema), [id]));
  }

  /** What still waits for it fails as `endpoint_deleted`. @throws WebhookNotFoundError */
  async remove(tenant: string, id: string): Promise<void> {
    await this.store.change(tenant, id, (_, tx) => tx.query(deleteEndpointSql(this.store.schema), [id]));
  }

  /**
   * Records a message for each of the tenant's endpoints that is told of its kind, in the caller's transaction.
   * @returns the messages' ids
   * @throws WebhookInputError, TransactionRequiredError: the transaction stays usable
   */
  async publish(tx: Transaction, message: TenantMessage): Promise<string[]> {
    checkTenant(message.tenant);
    const { manager } = this.channels.connectionOf(tx);
    const drafts = await this.channel.drafts(manager, message);
    const recorded = await this.recorder.enqueue(tx, this.channelClass, drafts);
    return recorded.map(({ id }) => messageIdOf(id));
  }

  /**
   * Sends a signed test message of kind `webhook.test`.
   * @returns the message's id
   * @throws WebhookNotFoundError, WebhookInputError; WebhookStateError for an endpoint that is disabled
   */
  async sendTest(tenant: string, id: string, body: Uint8Array = Buffer.from('{"test":true}')): Promise<string> {
    const bytes = checkBody(body);
    return this.store.change(tenant, id, async (row, tx) => {
      if (row.status === 'disabled') throw new WebhookStateError(`Endpoint ${id} is disabled. Enable it first.`);
      const recorded = await this.recorder.enqueue(tx, this.channelClass, this.channel.draft(row, testKind, bytes));
      return messageIdOf(recorded.id);
    });
  }

  /**
   * How many failed deliveries of an endpoint a retry would send again: what to show before it is done. The retry asks for its `asOf`.
   * @throws WebhookNotFoundError, WebhookInputError
   */
  async countFailed(tenant: string, id: string, range: FailedRange = {}): Promise<BulkCount> {
    await this.requireOwn(tenant, id);
    return asInput(() => this.operations.countMatching('retry', conditionsOf(id, range)));
  }

  /**
   * Sends the failed deliveries of an endpoint again.
   * @param options as `DeliveryOperations.retryMatching` takes them; `asOf` is that of the count that was shown, so that nothing is
   *   sent that it did not count. `spreadOver` is gentle with a receiver that has just come back
   * @throws WebhookNotFoundError, WebhookInputError; WebhookStateError for an endpoint that is disabled
   */
  async retryFailed(tenant: string, id: string, range: FailedRange, options: CountedRetryOptions): Promise<BulkReport> {
    const { status } = await this.requireOwn(tenant, id);
    if (!(options.asOf instanceof Date) || Number.isNaN(options.asOf.getTime())) {
      throw new WebhookInputError(
        'asOf',
        'that of the answer of countFailed: count first, and show how many it would be',
      );
    }
    if (status === 'disabled') {
      throw new WebhookStateError(`Endpoint ${id} is disabled: everything would fail again. Enable it first.`);
    }
    return asInput(() => this.operations.retryMatching(conditionsOf(id, range), options));
  }

  private requireOwn(tenant: string, id: string): Promise<EndpointRow> {
    return this.store.change(tenant, id, (row) => Promise.resolve(row));
  }

  private checkUrl(url: unknown): void {
    // It may come from a request's body as it is.
    const verdict = this.http.checkDestination(typeof url === 'string' ? url : '', { profile: 'strict' });
    if (verdict.allowed) return;
    throw new WebhookInputError('url', `a public HTTPS address (this one is refused: ${verdict.reason})`);
  }
}
