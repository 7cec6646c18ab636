import { validate } from 'uuid';
import { WebhookInputError, WebhookNotFoundError } from '../errors';
import { checkKind } from '../sign/names';
import { endpointSchemes, type EndpointScheme } from './endpoint-secrets';

/** What is no id belongs to no endpoint. @throws WebhookNotFoundError */
export function requireId(id: string): string {
  if (validate(id)) return id.toLowerCase();
  throw new WebhookNotFoundError('such endpoint');
}

/** @throws WebhookInputError */
export function checkTenant(tenant: string): void {
  if (typeof tenant === 'string' && /^[\x21-\x7e]{1,128}$/.test(tenant)) return;
  throw new WebhookInputError('tenant', '1 to 128 visible ASCII characters');
}

/** @throws WebhookInputError */
export function checkKinds(kinds: readonly string[]): void {
  if (!Array.isArray(kinds) || kinds.length < 1 || kinds.length > 100) {
    throw new WebhookInputError('list of event kinds', '1 to 100 kinds, or * for all');
  }
  for (const kind of kinds) if (kind !== '*') checkKind(kind);
}

/** @throws WebhookInputError */
export function checkSchemes(schemes: readonly EndpointScheme[]): void {
  const known = Array.isArray(schemes) && schemes.length > 0 && schemes.every((each) => endpointSchemes.includes(each));
  if (!known) throw new WebhookInputError('list of schemes', `one or more of ${endpointSchemes.join(', ')}`);
}
