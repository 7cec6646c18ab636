/** Answers of the last moments: however many people look, the database is asked once. */
export class Cached<T> {
  private readonly answers = new Map<string, { readonly until: number; readonly answer: Promise<T> }>();

  /** @param lifetime in ms, from when it was asked */
  constructor(private readonly lifetime: number) {}

  forget(): void {
    this.answers.clear();
  }

  /** What `ask` gave for this key a moment ago, or gives now. A failure is nobody's answer but those that waited for it. */
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const now = performance.now();
    for (const [each, { until }] of this.answers) if (until <= now) this.answers.delete(each);
    const known = this.answers.get(key);
    if (known) return known.answer;
    const answer = ask();
    this.answers.set(key, { until: now + this.lifetime, answer });
    answer.catch(() => this.answers.get(key)?.answer === answer && this.answers.delete(key));
    return answer;
  }
}
