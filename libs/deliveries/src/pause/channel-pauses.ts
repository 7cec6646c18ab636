import type { WorkerDatabase } from '../database/worker-database';
import { milliseconds, type Duration } from '../delivery/duration';
import { InvalidRequestError } from '../errors';
import { pauseForReasonSql, resumeForReasonSql } from './channel-pauses.sql';

/** What the tables take for a reason, without those that others write. */
const reasonPattern = /^(?!(?:operator|retry_after)$)[a-z][a-z0-9_]{0,63}$/;

/**
 * Lets a channel hold itself, in all replicas, while every attempt would fail for a reason that is none of the deliveries': a
 * login that its relay rejects, a key that was revoked. Nothing of it is claimed meanwhile, so that no delivery spends attempts.
 *
 * A pause has an end, so that it ends by itself when the process that could end it is gone: prolong it for as long as the reason
 * lasts. It neither ends an operator's pause nor prolongs one; an operator's resume ends this one as well.
 */
export class ChannelPauses {
  private readonly texts: { readonly pause: string; readonly resume: string };

  constructor(
    private readonly database: WorkerDatabase,
    schema: string,
    private readonly onDue: (channel: string) => void,
  ) {
    this.texts = { pause: pauseForReasonSql(schema), resume: resumeForReasonSql(schema) };
  }

  /**
   * Pauses the channel from now on, or prolongs the pause that it has for this reason.
   *
   * @param channel its name
   * @param reason the channel's own word, shown to operators: `[a-z][a-z0-9_]{0,63}`, not `operator` or `retry_after`
   * @param duration for how long from now, unless it is prolonged
   * @throws InvalidRequestError before any SQL runs, the driver's error when PostgreSQL could not be asked
   */
  async pause(channel: string, reason: string, duration: Duration): Promise<void> {
    const ms = milliseconds(duration);
    if (!ms) throw new InvalidRequestError('duration', "must be a duration above 0, such as '1m'");
    await this.database.query('deliveries_pause_channel', this.texts.pause, [channel, checkedReason(reason), ms]);
  }

  /**
   * Ends the pause that the channel has for this reason, and has workers look at once.
   *
   * @returns whether there was one
   * @throws as {@link pause}
   */
  async resume(channel: string, reason: string): Promise<boolean> {
    const values = [channel, checkedReason(reason)];
    const rows = await this.database.query('deliveries_resume_channel', this.texts.resume, values);
    if (rows.length > 0) this.onDue(channel);
    return rows.length > 0;
  }
}

function checkedReason(reason: string): string {
  if (reasonPattern.test(reason)) return reason;
  throw new InvalidRequestError(
    'reason',
    'must be a word of the channel’s own, 1 to 64 of a-z 0-9 _, and not operator or retry_after',
  );
}
