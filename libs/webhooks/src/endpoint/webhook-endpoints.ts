import {
  InvalidRequestError,
  type BulkCount,
  type BulkReport,
  type BulkRetryOptions,
  type DeliveryConditions,
  type DeliveryOperations,
  type DeliveryRecorder,
  type RuntimeChannels,
  type Transaction,
} from 'nest-deliveries';
import type { OutboundHttp } from 'nest-deliveries/outbound-http';
import type { EntityManager } from 'typeorm';
import { v7 as uuidv7, validate } from 'uuid';
import { WebhookInputError, WebhookNotFoundError, WebhookStateError } from '../errors';
import type { WebhookKeyring } from '../seal/keyring';
import { checkBody } from '../sign/json-bytes';
import { checkKind, messageIdOf } from '../sign/names';
import { endpointChannel, EndpointChannel, type TenantMessage } from './endpoint.channel';
import { endpointOf, openContent, sealContent, type EndpointRow, type WebhookEndpoint } from './endpoint-row';
import {
  endpointSchemes,
  liveSecrets,
  mostSecrets,
  newSecret,
  shownOf,
  type EndpointScheme,
  type ShownSecrets,
} from './endpoint-secrets';
import {
  deleteEndpointSql,
  disableEndpointSql,
  enableEndpointSql,
  insertEndpointSql,
  listEndpointsSql,
  lockEndpointSql,
  updateEndpointSql,
} from './endpoint.sql';

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

/** Which of an endpoint's failed deliveries: by when they were created. */
export interface FailedRange {
  readonly from?: Date;
  /** Exclusive. */
  readonly until?: Date;
}

/** The kind of the message that a test sends. */
export const testKind = 'webhook.test';

const longestOverlap = 30 * 86_400_000;
const pageSize = 100;
type LockedRow = EndpointRow & { readonly now: number };

/**
 * Endpoints that tenants register. Every call names the tenant, and sees nothing of another's; that the caller may speak for it is
 * the host's to know.
 */
export class WebhookEndpoints {
  constructor(
    private readonly channels: RuntimeChannels,
    private readonly recorder: DeliveryRecorder,
    private readonly operations: DeliveryOperations,
    private readonly channel: EndpointChannel,
    private readonly keyring: WebhookKeyring,
    private readonly http: OutboundHttp,
  ) {}

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
    const [row] = await this.transaction((tx) =>
      tx.query<[EndpointRow]>(insertEndpointSql(this.channels.schema), [id, tenant, kinds, schemes, sealed]),
    );
    return { endpoint: endpointOf(row), secrets: shownOf(secret, schemes) };
  }

  /** A tenant's endpoints, 100 at a time. @param after the last id of the page before */
  async list(tenant: string, after = '00000000-0000-0000-0000-000000000000'): Promise<WebhookEndpoint[]> {
    checkTenant(tenant);
    const rows = await this.transaction((tx) =>
      tx.query<EndpointRow[]>(listEndpointsSql(this.channels.schema), [tenant, requireId(after), pageSize]),
    );
    return rows.map(endpointOf);
  }

  /** One of a tenant's, with its URL. @throws WebhookNotFoundError */
  async get(tenant: string, id: string): Promise<WebhookEndpoint & { readonly url: string }> {
    return this.change(tenant, id, async (row) => ({ ...endpointOf(row), url: openContent(this.keyring, row).url }));
  }

  /**
   * Another URL, or other kinds. What waits is sent to the new URL: where a message goes is decided when it is sent.
   * @throws WebhookNotFoundError, WebhookInputError
   */
  async update(tenant: string, id: string, changes: { url?: string; kinds?: readonly string[] }): Promise<void> {
    if (changes.url !== undefined) this.checkUrl(changes.url);
    if (changes.kinds !== undefined) checkKinds(changes.kinds);
    await this.change(tenant, id, async (row, tx) => {
      const content = openContent(this.keyring, row);
      const sealed = sealContent(this.keyring, id, tenant, { ...content, url: changes.url ?? content.url });
      await tx.query(updateEndpointSql(this.channels.schema), [id, changes.kinds ?? row.kinds, sealed]);
    });
  }

  /**
   * Makes a new secret. The old one stays good for the overlap: Standard Webhooks requests carry a signature of each; those of
   * `rullst-v1`, which carry one, are signed with the old one until then.
   *
   * @param options.overlap in ms, 0 to 30 days. Default a day
   * @returns the new secrets, which are never shown again
   * @throws WebhookNotFoundError, WebhookInputError, WebhookStateError
   */
  async rotateSecret(tenant: string, id: string, { overlap = 86_400_000 } = {}): Promise<ShownSecrets> {
    if (!(overlap >= 0 && overlap <= longestOverlap)) throw new WebhookInputError('overlap', '0 ms to 30 days');
    return this.change(tenant, id, async (row, tx) => {
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
      await tx.query(updateEndpointSql(this.channels.schema), [id, row.kinds, sealed]);
      return shownOf(secret, row.schemes);
    });
  }

  /** What is due meanwhile fails as `endpoint_disabled`, without a send. @throws WebhookNotFoundError */
  async disable(tenant: string, id: string): Promise<void> {
    await this.change(tenant, id, (_, tx) => tx.query(disableEndpointSql(this.channels.schema), [id, 'operator']));
  }

  /** What failed meanwhile stays failed until somebody retries it. @throws WebhookNotFoundError */
  async enable(tenant: string, id: string): Promise<void> {
    await this.change(tenant, id, (_, tx) => tx.query(enableEndpointSql(this.channels.schema), [id]));
  }

  /** What still waits for it fails as `endpoint_deleted`. @throws WebhookNotFoundError */
  async remove(tenant: string, id: string): Promise<void> {
    await this.change(tenant, id, (_, tx) => tx.query(deleteEndpointSql(this.channels.schema), [id]));
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
    const recorded = await this.recorder.enqueue(tx, EndpointChannel, drafts);
    return recorded.map(({ id }) => messageIdOf(id));
  }

  /**
   * Sends a signed test message of kind `webhook.test`.
   * @returns the message's id
   * @throws WebhookNotFoundError, WebhookInputError; WebhookStateError for an endpoint that is disabled
   */
  async sendTest(tenant: string, id: string, body: Uint8Array = Buffer.from('{"test":true}')): Promise<string> {
    const bytes = checkBody(body);
    return this.change(tenant, id, async (row, tx) => {
      if (row.status === 'disabled') throw new WebhookStateError(`Endpoint ${id} is disabled. Enable it first.`);
      const recorded = await this.recorder.enqueue(tx, EndpointChannel, this.channel.draft(row, testKind, bytes));
      return messageIdOf(recorded.id);
    });
  }

  /**
   * How many failed deliveries of an endpoint a retry would send again: what to show before it is done.
   * @throws WebhookNotFoundError, WebhookInputError
   */
  async countFailed(tenant: string, id: string, range: FailedRange = {}): Promise<BulkCount> {
    await this.requireOwn(tenant, id);
    return asInput(() => this.operations.countMatching('retry', conditionsOf(id, range)));
  }

  /**
   * Sends the failed deliveries of an endpoint again.
   * @param options as `DeliveryOperations.retryMatching` takes them: `asOf` of the count that was shown, `spreadOver` to be gentle
   * @throws WebhookNotFoundError, WebhookInputError; WebhookStateError for an endpoint that is disabled
   */
  async retryFailed(tenant: string, id: string, range: FailedRange, options: BulkRetryOptions): Promise<BulkReport> {
    const { status } = await this.requireOwn(tenant, id);
    if (status === 'disabled') {
      throw new WebhookStateError(`Endpoint ${id} is disabled: everything would fail again. Enable it first.`);
    }
    return asInput(() => this.operations.retryMatching(conditionsOf(id, range), options));
  }

  private requireOwn(tenant: string, id: string): Promise<EndpointRow> {
    return this.change(tenant, id, (row) => Promise.resolve(row));
  }

  private change<T>(tenant: string, id: string, work: (row: LockedRow, tx: EntityManager) => Promise<T>): Promise<T> {
    checkTenant(tenant);
    return this.transaction(async (tx) => {
      const values = [requireId(id), tenant];
      const [row] = await tx.query<LockedRow[]>(lockEndpointSql(this.channels.schema), values);
      if (!row) throw new WebhookNotFoundError(`endpoint ${id}`);
      return work(row, tx);
    });
  }

  private transaction<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    return this.channels.dataSource.transaction('READ COMMITTED', async (tx) => {
      await tx.query("SET LOCAL statement_timeout = '10s'");
      return work(tx);
    });
  }

  private checkUrl(url: unknown): void {
    // It may come from a request's body as it is.
    const verdict = this.http.checkDestination(typeof url === 'string' ? url : '', { profile: 'strict' });
    if (verdict.allowed) return;
    throw new WebhookInputError('url', `a public HTTPS address (this one is refused: ${verdict.reason})`);
  }
}

const conditionsOf = (id: string, { from, until }: FailedRange): DeliveryConditions => ({
  channel: endpointChannel,
  lane: id,
  status: 'failed',
  ...(from && { createdAfter: from }),
  ...(until && { createdBefore: until }),
});

async function asInput<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InvalidRequestError) throw new WebhookInputError(error.path, error.rule);
    throw error;
  }
}

function requireId(id: string): string {
  if (validate(id)) return id.toLowerCase();
  throw new WebhookNotFoundError('such endpoint');
}

function checkTenant(tenant: string): void {
  if (typeof tenant === 'string' && /^[\x21-\x7e]{1,128}$/.test(tenant)) return;
  throw new WebhookInputError('tenant', '1 to 128 visible ASCII characters');
}

function checkKinds(kinds: readonly string[]): void {
  if (!Array.isArray(kinds) || kinds.length < 1 || kinds.length > 100) {
    throw new WebhookInputError('list of event kinds', '1 to 100 kinds, or * for all');
  }
  for (const kind of kinds) if (kind !== '*') checkKind(kind);
}

function checkSchemes(schemes: readonly EndpointScheme[]): void {
  const known = Array.isArray(schemes) && schemes.length > 0 && schemes.every((each) => endpointSchemes.includes(each));
  if (!known) throw new WebhookInputError('list of schemes', `one or more of ${endpointSchemes.join(', ')}`);
}
