interface Kept<T> {
  readonly answer: Promise<T>;
  /** When it was asked for, in ms. */
  readonly at: number;
  renewing: boolean;
}

/**
 * Answers of the last moments: however many people look, the database is asked once, and who looks again and again, as an open
 * page does, never waits for it.
 */
export class Cached<T> {
  private readonly answers = new Map<string, Kept<T>>();

  /**
   * @param fresh how long an answer is given without another thought, in ms from when it was asked for
   * @param usable how long it is given while it is renewed for whoever asks next
   */
  constructor(
    private readonly fresh: number,
    private readonly usable: number,
  ) {}

  forget(): void {
    this.answers.clear();
  }

  /** What `ask` gave for this key a moment ago, or gives now. A failure is nobody's answer but those that waited for it. */
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const now = performance.now();
    for (const [each, { at }] of this.answers) if (at + this.usable <= now) this.answers.delete(each);
    const known = this.answers.get(key);
    if (known) {
      if (known.at + this.fresh <= now) this.renew(key, known, ask);
      return known.answer;
    }
    const kept = { answer: ask(), at: now, renewing: false };
    this.answers.set(key, kept);
    kept.answer.catch(() => this.replace(key, kept, undefined));
    return kept.answer;
  }

  private renew(key: string, known: Kept<T>, ask: () => Promise<T>): void {
    if (known.renewing) return;
    known.renewing = true;
    const next = { answer: ask(), at: performance.now(), renewing: false };
    next.answer.then(
      () => this.replace(key, known, next),
      () => (known.renewing = false),
    );
  }

  /** Unless it was forgotten meanwhile: what was asked for before a change does not know of it. */
  private replace(key: string, known: Kept<T>, next: Kept<T> | undefined): void {
    if (this.answers.get(key) !== known) return;
    if (next) this.answers.set(key, next);
    else this.answers.delete(key);
  }
}
