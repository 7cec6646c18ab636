import { setTimeout as sleep } from 'node:timers/promises';
import type { Relay, RelayAnswer } from '../relay/relay';

/** What a terminus indicator gives: made without terminus, so that an application without it needs none. */
export type EmailHealth<Key extends string, Status extends string> = Record<
  Key,
  { status: Status } & Readonly<Record<string, unknown>>
>;

/** How long an answer of the relay is good for, in ms: health is asked for every few seconds, and a relay counts logins. */
const goodFor = 30_000;
/** How long a caller waits for the relay, in ms: longer than any of the session's own limits is in vain. */
const patience = 15_000;

const silent: RelayAnswer = { reached: false, loginRejected: false, reason: `no answer within ${patience} ms` };

/**
 * Health of the relay, for terminus: `() => email.check()`. For readiness only: a relay that is away is not cured by a restart, and
 * messages wait for it in the queue.
 */
export class EmailHealthIndicator {
  private asking: Promise<RelayAnswer> | undefined;
  private last: { readonly at: number; readonly answer: RelayAnswer } | undefined;

  constructor(private readonly relay: Relay | undefined) {}

  /**
   * `up`, or `degraded` when the relay cannot be reached, rejects the login, or when there is none and every delivery is skipped.
   * Never `down`. An answer is good for 30 s, and one question is under way at a time.
   *
   * @param options.degradedAs `'up'` for a terminus before 12, which knows no `degraded`
   */
  async check<Key extends string = 'email', Degraded extends 'up' | 'degraded' = 'degraded'>(
    key: Key = 'email' as Key,
    options: { readonly degradedAs?: Degraded } = {},
  ): Promise<EmailHealth<Key, 'up' | Degraded>> {
    const problem = await this.problem();
    const detail = {
      relay: problem ?? 'up',
      status: (problem ? (options.degradedAs ?? 'degraded') : 'up') as 'up' | Degraded,
    };
    return { [key]: detail as object } as EmailHealth<Key, 'up' | Degraded>;
  }

  private async problem(): Promise<string | undefined> {
    if (!this.relay) return 'none: every delivery is skipped';
    const answer = await this.ask(this.relay);
    if (answer.reached) return undefined;
    return answer.loginRejected ? `rejects the login (${answer.reason})` : `cannot be used (${answer.reason})`;
  }

  private async ask(relay: Relay): Promise<RelayAnswer> {
    if (this.last && performance.now() - this.last.at < goodFor) return this.last.answer;
    this.asking ??= relay
      .verify()
      .then((answer) => {
        this.last = { at: performance.now(), answer };
        return answer;
      })
      .finally(() => (this.asking = undefined));
    const waited = new AbortController();
    const limit = sleep(patience, silent, { signal: waited.signal, ref: false }).catch(() => silent);
    const answer = await Promise.race([this.asking, limit]);
    waited.abort();
    return answer;
  }
}
