import type { WebhookKeyring, Sealed } from '../seal/keyring';
import type { EndpointScheme, StoredSecret } from './endpoint-secrets';

/** An endpoint as the table has it. */
export interface EndpointRow {
  readonly id: string;
  readonly tenant: string;
  readonly kinds: readonly string[];
  readonly schemes: readonly EndpointScheme[];
  readonly sealed: Sealed;
  readonly status: 'enabled' | 'disabled';
  readonly disabled_reason: DisabledReason | null;
  readonly disabled_at: Date | null;
  readonly failing_since: Date | null;
  readonly warnings: number;
  readonly created_at: Date;
}

/**
 * - `operator`: somebody did it
 * - `gone`: it answered 410
 * - `failing`: nothing arrived for five days
 */
export type DisabledReason = 'operator' | 'gone' | 'failing';

/** A receiver that a tenant registered. Neither its secrets nor, in lists and logs, its URL. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly tenant: string;
  /** Kinds of events that it is told of; `*` for all. */
  readonly kinds: readonly string[];
  readonly schemes: readonly EndpointScheme[];
  readonly status: 'enabled' | 'disabled';
  readonly disabledReason: DisabledReason | null;
  readonly disabledAt: Date | null;
  /** The first failure since the last success. */
  readonly failingSince: Date | null;
  readonly createdAt: Date;
}

export const endpointOf = (row: EndpointRow): WebhookEndpoint => ({
  id: row.id,
  tenant: row.tenant,
  kinds: row.kinds,
  schemes: row.schemes,
  status: row.status,
  disabledReason: row.disabled_reason,
  disabledAt: row.disabled_at,
  failingSince: row.failing_since,
  createdAt: row.created_at,
});

/** What is sealed. */
export interface EndpointContent {
  readonly url: string;
  /** Newest first. */
  readonly secrets: readonly StoredSecret[];
}

const place = (id: string, tenant: string): string[] => ['endpoint', id, tenant];

export const sealContent = (keyring: WebhookKeyring, id: string, tenant: string, content: EndpointContent): string =>
  JSON.stringify(keyring.seal(place(id, tenant), Buffer.from(JSON.stringify(content))));

/** @throws SealBrokenError */
export const openContent = (keyring: WebhookKeyring, { id, tenant, sealed }: EndpointRow): EndpointContent =>
  JSON.parse(keyring.open(place(id, tenant), sealed).toString('utf8')) as EndpointContent;
