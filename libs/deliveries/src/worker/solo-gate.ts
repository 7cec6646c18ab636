/**
 * Lets one suspect delivery, whose workers vanished before, be sent while this process holds no other claim: if it ends the
 * process again, it takes no innocent delivery with it. A claim that is merely on its way here, or on its way back, would
 * count a crash as well.
 */
export class SoloGate {
  /** Claims being asked for, sends, claims being given back. */
  private holding = 0;
  private alone = false;
  private idle: (() => void) | undefined;
  private closed = false;
  private stopWaiting: (() => void) | undefined;

  /** @param onOpen called whenever ordinary deliveries may be claimed again */
  constructor(private readonly onOpen: () => void) {}

  /** False while a suspect is being sent or waits for its turn: nothing new should be claimed. */
  get open(): boolean {
    return !this.alone && this.idle === undefined;
  }

  /** Counts something in that holds claims, or is about to: a suspect waits until it has left. */
  enter(): void {
    this.holding += 1;
  }

  leave(): void {
    this.holding -= 1;
    if (this.holding === 0) this.idle?.();
  }

  /** From now on no suspect is sent; one that waits for its turn waits no longer. */
  close(): void {
    this.closed = true;
    this.stopWaiting?.();
  }

  /**
   * Waits until no other claim is held, then runs `work` alone.
   * @param patience ms after which it gives up waiting
   * @returns false when `work` was not run: another suspect had come first, or the others took too long,
   *   or the gate was closed
   */
  async runAlone(work: () => Promise<void>, patience: number): Promise<boolean> {
    if (!this.open || this.closed) return false;
    if (this.holding > 0 && !(await this.becomesIdle(patience))) return false;
    this.alone = true;
    try {
      await work();
    } finally {
      this.alone = false;
      this.onOpen();
    }
    return true;
  }

  private async becomesIdle(patience: number): Promise<boolean> {
    const idle = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), patience);
      this.stopWaiting = () => {
        clearTimeout(timer);
        resolve(false);
      };
      this.idle = () => {
        // Here, not after the await: in between, a worker could ask for a claim.
        this.alone = true;
        clearTimeout(timer);
        resolve(true);
      };
    });
    this.idle = undefined;
    if (!idle) this.onOpen();
    return idle;
  }
}
