import { failed, retry, succeeded, type Outcome } from 'nest-deliveries';
import type { OutboundResult } from 'nest-deliveries/outbound-http';

/** The longest Retry-After that is listened to, in seconds. */
const longestAsked = 3_600;

/**
 * What a result means for a webhook: any 2xx is the receiver's acceptance. 408, 425, 429, 5xx, and whatever kept an answer from
 * coming are tried again; redirects, every other status and refused destinations end the delivery.
 */
export function webhookOutcome(result: OutboundResult): Outcome {
  switch (result.type) {
    case 'responded':
      return ofStatus(result.status, result.headers['retry-after']);
    case 'refused':
      return failed(`refused:${result.reason}`);
    case 'timedOut':
      return retry(`timeout:${result.phase}`);
    case 'unreachable':
      return retry(result.kind);
  }
}

function ofStatus(status: number, retryAfter: unknown): Outcome {
  if (status >= 200 && status <= 299) return succeeded();
  const again = status === 408 || status === 425 || status === 429 || (status >= 500 && status <= 599);
  if (!again) return failed(status);
  const asked = askedFor(retryAfter);
  return asked === undefined ? retry(status) : retry(status, { retryAfter: asked });
}

/** Whole seconds up to an hour, in ms; anything else, also a date, is not listened to. */
function askedFor(header: unknown): number | undefined {
  if (typeof header !== 'string' || !/^[0-9]{1,4}$/.test(header) || Number(header) > longestAsked) return undefined;
  return Number(header) * 1_000;
}
