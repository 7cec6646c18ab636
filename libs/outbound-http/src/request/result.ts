import type { RefusalReason } from '../address-policy/reasons';

/** Lower-case names; a header that came more than once is an array, in the order of the wire. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** What an attempt was doing when its time was over. */
export type Phase = 'resolve' | 'connect' | 'response';

/** What became of an attempt. Never an exception: whatever a receiver does ends as one of these. */
export type OutboundResult =
  | {
      type: 'responded';
      status: number;
      headers: ResponseHeaders;
      /** The first 64 KiB at most, as they came over the wire: nothing is decompressed. */
      body: Buffer;
      /** More of the body was announced or offered than `body` holds: too long, cut off, or out of time. */
      truncated: boolean;
    }
  /** The rules forbid the destination, and will as long as it stays what it is. */
  | { type: 'refused'; reason: RefusalReason }
  /** Nothing was answered in time. */
  | { type: 'timedOut'; phase: Phase }
  /**
   * No answer: the platform's code (`ECONNREFUSED`, `CERT_HAS_EXPIRED` …), `dns:` and the resolver's code,
   * `connection-closed` for a connection that ended before an answer, `aborted` by the caller's signal, or `withdrawn` by its
   * `beforeConnect`.
   */
  | { type: 'unreachable'; kind: string };
