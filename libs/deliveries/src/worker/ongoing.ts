/** Counts what is under way, and tells when nothing is. */
export class Ongoing {
  private count = 0;
  private waiting: (() => void)[] = [];

  get now(): number {
    return this.count;
  }

  begin(): void {
    this.count += 1;
  }

  end(): void {
    this.count -= 1;
    if (this.count === 0) for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Resolves when nothing is under way: at once, when nothing is now. */
  async none(): Promise<void> {
    while (this.count > 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }
}
