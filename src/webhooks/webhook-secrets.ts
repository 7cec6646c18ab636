import { createHash, hkdfSync } from 'node:crypto';
import { StandardSecret, WebhookKeyring, WebhookStorageKey } from 'nest-deliveries/webhooks';
import type { Secrets } from '../secrets';

/** The keys under which endpoints and messages are stored, and the secret of who may send to the inbox. */
export interface WebhookSecrets {
  readonly keyring: WebhookKeyring;
  /** `whsec_…`, for the other party. */
  readonly inboxSecret: string;
}

/**
 * Derived, so that the application has one set of secrets to look after: a storage key for each, the newest first, and no way from one
 * to the other (HKDF, RFC 5869).
 */
export function webhookSecrets({ tokenDigestKeys }: Pick<Secrets, 'tokenDigestKeys'>): WebhookSecrets {
  const [primary, ...older] = tokenDigestKeys.map((key) => {
    const bytes = derived(key, 'webhook storage');
    return new WebhookStorageKey(createHash('sha256').update(bytes).digest('hex').slice(0, 16), bytes);
  });
  const inbox = derived(tokenDigestKeys[0]!, 'webhook inbox');
  return { keyring: new WebhookKeyring(primary!, ...older), inboxSecret: `whsec_${inbox.toString('base64')}` };
}

/** For an inbox that knows one sender. */
export const inboxKeys = ({ inboxSecret }: WebhookSecrets): { standard: StandardSecret[] } => ({
  standard: [new StandardSecret(inboxSecret)],
});

const derived = (key: string, purpose: string): Buffer =>
  Buffer.from(
    hkdfSync('sha256', Buffer.from(key, 'base64url'), Buffer.alloc(0), `reference application: ${purpose}`, 32),
  );
