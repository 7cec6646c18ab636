/** How long a bound serves before one claim looks at everything again, in ms. */
const lifetime = 1_000;

/**
 * The lower bound that a worker's claims give to the due time: the due time of the last row of its last full claim.
 *
 * It is forgotten once a second, and whenever a claim comes back short, so that rows below it are found within that
 * second: those whose transaction committed late, those given back, those whose lease ran out.
 */
export class DueBound {
  private bound = 0;
  private since = 0;

  /** Microseconds since 1970 for the next claim; 0 for none. @param now `performance.now()` */
  next(now: number): number {
    if (now - this.since >= lifetime) {
      this.since = now;
      this.bound = 0;
    }
    return this.bound;
  }

  /** Learns from a claim that asked for `slots` and got rows whose latest due time is `last`. */
  observe(slots: number, claimed: number, last: number): void {
    this.bound = claimed < slots ? 0 : last;
  }
}
