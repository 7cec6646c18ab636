import { WebhookConfigurationError } from '../errors';
import { SealBrokenError, type Sealed, type WebhookKeyring } from '../seal/keyring';
import type { WebhookSigningKey } from '../sign/signing-key';
import type { WebhookConfig } from './webhook-config';

/** What is bound when a namespace is opened first. */
type Bound = Readonly<Record<string, unknown>>;

const boundOf = (config: WebhookConfig, key: WebhookSigningKey): Bound => ({
  destination: config.destination.url(),
  mode: `${config.destination.mode}, ${key.offline ? 'offline' : 'live'}`,
  'signing key ID': key.id,
  'signing key': key.fingerprint(),
  quota: config.quota,
  window: config.window,
  schemes: config.schemes.toSorted(),
  'standard keys': config.standardKeys.map((each) => each.fingerprint()).toSorted(),
});

const place = (namespace: string): string[] => ['control', namespace];

export const sealControl = (keyring: WebhookKeyring, config: WebhookConfig, key: WebhookSigningKey): Sealed =>
  keyring.seal(place(config.namespace), Buffer.from(JSON.stringify(boundOf(config, key))));

/**
 * @param sealed the control record as it is stored
 * @throws WebhookConfigurationError when it does not open, or says something else than what the namespace is opened with now
 */
export function requireSame(
  keyring: WebhookKeyring,
  config: WebhookConfig,
  key: WebhookSigningKey,
  sealed: unknown,
): void {
  const then = openControl(keyring, config.namespace, sealed);
  const now = boundOf(config, key);
  const changed = Object.keys({ ...now, ...then }).filter(
    (name) => JSON.stringify(now[name]) !== JSON.stringify(then[name]),
  );
  if (changed.length === 0) return;
  throw new WebhookConfigurationError(
    `Namespace "${config.namespace}" was opened first with another ${changed.join(' and another ')}, and nothing is sent. Use what it ` +
      'was opened with, or a new namespace, and decide what becomes of the events in the old one.',
  );
}

function openControl(keyring: WebhookKeyring, namespace: string, sealed: unknown): Bound {
  try {
    return JSON.parse(keyring.open(place(namespace), sealed).toString('utf8')) as Bound;
  } catch (error) {
    if (!(error instanceof SealBrokenError)) throw error;
    throw new WebhookConfigurationError(
      `Namespace "${namespace}": its control record does not open with this keyring, and nothing is sent. ${error.message}`,
      { cause: error },
    );
  }
}
