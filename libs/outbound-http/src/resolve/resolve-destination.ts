import { canonicalText, readAddress } from '../address-policy/address';
import { judgeAddress, type AddressRules } from '../address-policy/classify-address';
import type { Destination } from '../address-policy/read-destination';
import type { RefusalReason } from '../address-policy/reasons';
import type { Resolver } from './resolver';

/** An address that this attempt may connect to. */
export interface CheckedAddress {
  /** As the resolver wrote it: what is dialled. */
  address: string;
  /** One text per place that is reached: what a socket's remote address is compared with. */
  canonical: string;
}

export type Resolution =
  | { type: 'resolved'; addresses: readonly CheckedAddress[] }
  | { type: 'refused'; reason: RefusalReason; address?: string }
  /** The resolver failed or knows no address: something that may pass, so an attempt may be made again. */
  | { type: 'unresolved'; kind: string };

/** More addresses than this are no receiver: they are a list of targets. */
const MAX_ADDRESSES = 16;

/** Resolves a destination once and judges every address; a single bad one refuses them all. */
export async function resolveDestination(
  destination: Destination,
  rules: AddressRules,
  resolver: Resolver,
  signal?: AbortSignal,
): Promise<Resolution> {
  let answers: readonly string[];
  try {
    answers = await resolver(destination.hostname, signal);
  } catch (error) {
    return { type: 'unresolved', kind: `dns:${codeOf(error)}` };
  }
  return judgeAnswers(answers, rules);
}

/** A literal is its own only address, and was judged with the URL. */
export function resolveLiteral(destination: Destination): Resolution {
  return { type: 'resolved', addresses: [checked(destination.hostname)] };
}

function judgeAnswers(answers: readonly string[], rules: AddressRules): Resolution {
  if (answers.length === 0) {
    return { type: 'unresolved', kind: 'dns:no-addresses' };
  }
  if (answers.length > MAX_ADDRESSES) {
    return { type: 'refused', reason: 'too-many-addresses' };
  }
  for (const address of answers) {
    const verdict = judgeAddress(address, rules);
    if (!verdict.allowed) {
      return { type: 'refused', reason: verdict.reason, address };
    }
  }
  return { type: 'resolved', addresses: answers.map(checked) };
}

function checked(address: string): CheckedAddress {
  const parsed = readAddress(address);
  return { address, canonical: parsed ? canonicalText(parsed) : address };
}

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'failed';
  return /^[\w.-]{1,60}$/.test(code) ? code : 'failed';
}
