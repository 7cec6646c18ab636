import type { Attempt } from 'nest-deliveries';
import type { OutboundHttp, OutboundResult } from 'nest-deliveries/outbound-http';
import type { SignedHeaders } from '../sign/webhook-signature';

/** For the name, and again for TCP and TLS. */
const connectTimeout = '3s';

/**
 * Makes one attempt: resolves, judges every address by the strict profile, asks the database once more whether the delivery is
 * still to be sent, connects and sends. Nothing of the answer but its status and headers is read.
 */
export async function postWebhook(
  http: OutboundHttp,
  url: string,
  headers: SignedHeaders,
  body: Uint8Array,
  attempt: Attempt,
): Promise<OutboundResult> {
  return http.post(url, {
    headers,
    body,
    profile: 'strict',
    // Before the signal, at which the client could only say that it was aborted, and not in which phase.
    timeout: Math.max(1, attempt.remaining() - 100),
    resolveTimeout: connectTimeout,
    connectTimeout,
    signal: attempt.signal,
    ignoreBody: true,
    // What the database does not confirm is not sent: somebody else may be sending it.
    beforeConnect: () => attempt.isHeld().catch(() => false),
  });
}
