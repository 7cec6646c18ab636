import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../../database/worker-database';
import type { ObserverDatabase } from '../observer-database';

/** What PostgreSQL answered. */
export type ProbeAnswer =
  { readonly reached: true; readonly schemaVersion: number } | { readonly reached: false; readonly reason: string };

/** How long an answer is good for, in ms: whoever asks more often than that is told the same. */
const goodFor = 1_000;

/**
 * Asks whether PostgreSQL answers, and for the version of the schema: within a time limit, and one question at a time, so
 * that a database which does not answer holds one connection and not one for each time that somebody looked.
 */
export class DatabaseProbe {
  private readonly text: string;
  private asking: Promise<ProbeAnswer> | undefined;
  private last: { readonly at: number; readonly answer: ProbeAnswer } | undefined;

  constructor(
    private readonly database: ObserverDatabase,
    schema: string,
    private readonly limit: number,
  ) {
    this.text = `SELECT coalesce(max(version), 0)::integer AS version FROM "${schema}".schema_migrations`;
  }

  async ask(): Promise<ProbeAnswer> {
    if (this.last && performance.now() - this.last.at < goodFor) return this.last.answer;
    this.asking ??= this.question().finally(() => (this.asking = undefined));
    const waited = new AbortController();
    const limit = sleep(this.limit, undefined, { signal: waited.signal }).catch(() => undefined);
    const answer = await Promise.race([this.asking, limit.then(() => this.tooLate())]);
    waited.abort();
    return answer;
  }

  private async question(): Promise<ProbeAnswer> {
    const began = performance.now();
    const answer = await this.database.read<{ version: number }>(this.text, [], this.limit).then(
      ([row]): ProbeAnswer => ({ reached: true, schemaVersion: row!.version }),
      (error: unknown): ProbeAnswer => this.explain(codeOf(error)),
    );
    // What came after the limit is no answer, whoever waited for it.
    this.last = {
      at: performance.now(),
      answer: performance.now() - began > this.limit ? this.tooLate() : answer,
    };
    return this.last.answer;
  }

  private explain(code: string): ProbeAnswer {
    // 42P01 and 3F000: it answered that there are no tables, or no schema. 57014 and errors of pg that have no code: time is up.
    if (code === '42P01' || code === '3F000') return { reached: true, schemaVersion: 0 };
    return code === '57014' || code === 'Error' ? this.tooLate() : { reached: false, reason: code };
  }

  private tooLate(): ProbeAnswer {
    return { reached: false, reason: `no answer within ${this.limit} ms` };
  }
}
