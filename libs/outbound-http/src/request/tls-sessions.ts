/** Enough for the receivers that are in use at a time; each session is some 2 KB. */
const MAX_SESSIONS = 256;
/** A resumed session is not checked against the certificate's dates or names again, so trust in it is kept short. */
const MAX_AGE = 10 * 60_000;

/** TLS sessions by origin, so that a new connection to a known receiver skips the certificate's arithmetic. */
export class TlsSessions {
  readonly #sessions = new Map<string, { session: Buffer; since: number }>();

  get(origin: string): Buffer | undefined {
    const known = this.#sessions.get(origin);
    if (known && performance.now() - known.since > MAX_AGE) {
      this.#sessions.delete(origin);
      return undefined;
    }
    return known?.session;
  }

  /** The age counts from the full handshake: a ticket that came with a resumed session does not make it younger. */
  keep(origin: string, session: Buffer, resumed: boolean): void {
    const since = (resumed ? this.#sessions.get(origin)?.since : undefined) ?? performance.now();
    this.#sessions.delete(origin);
    this.#sessions.set(origin, { session, since });
    if (this.#sessions.size > MAX_SESSIONS) {
      this.#sessions.delete(this.#sessions.keys().next().value ?? origin);
    }
  }

  forget(origin: string): void {
    this.#sessions.delete(origin);
  }
}
