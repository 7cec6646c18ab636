import { WebhookConfigurationError } from '../errors';
import type { WebhookSigningKey } from '../sign/signing-key';
import { signStandard } from '../sign/standard';
import type { StandardSigner } from '../sign/standard-keys';
import type { SignedHeaders } from '../sign/webhook-signature';

/** The ways in which a request can be signed: `standard` is the Standard Webhooks specification. */
export const webhookSchemes = ['rullst-v1', 'standard'] as const;

export type WebhookScheme = (typeof webhookSchemes)[number];

/** The keys of one receiver. Each scheme that has any is used. */
export interface SigningKeys {
  readonly rullst?: WebhookSigningKey | undefined;
  readonly standard: readonly StandardSigner[];
}

/**
 * The headers of one attempt.
 * @param now in ms since 1970: each attempt is signed anew, so that a retry is as fresh as a first attempt
 */
export function signedHeaders(
  { rullst, standard }: SigningKeys,
  { id, kind, body }: { id: string; kind: string; body: Uint8Array },
  now: number,
): SignedHeaders {
  const timestamp = Math.floor(now / 1_000);
  return {
    'Content-Type': 'application/json',
    ...rullst?.sign({ id, kind, timestamp, body }),
    ...(standard.length > 0 && signStandard(standard, { id, timestamp, body })),
  };
}

/** @throws WebhookConfigurationError for anything but a list of known schemes, each once */
export function checkSchemes(subject: string, given: unknown): readonly WebhookScheme[] {
  const known = Array.isArray(given) && given.length > 0 && given.every((each) => webhookSchemes.includes(each));
  if (known && new Set(given).size === given.length) return given as WebhookScheme[];
  throw new WebhookConfigurationError(
    `${subject}: schemes must be a list of ${webhookSchemes.join(' and ')}, each once. Write one of them, or both.`,
  );
}
