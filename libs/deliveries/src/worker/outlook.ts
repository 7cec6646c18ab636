import { claimPaths, type ClaimPath } from '../delivery/claim-path';

/** A scan of lanes or keys that found nothing is repeated after this many times its own duration: stuck keys cost a fifth at most. */
const scanRest = 4;

/** On which paths a claim of a worker may find something: the last one was not at the end, or something woke the worker since. */
export class Outlook {
  private readonly worthALook = new Set<ClaimPath>();
  /** Scans of lanes and keys that found nothing rest. By `performance.now()`. */
  private readonly notBefore = new Map<ClaimPath, number>();
  private readonly timers = new Map<ClaimPath, NodeJS.Timeout>();

  /**
   * @param longestRest in ms
   * @param onRested called when a path need not rest any longer
   */
  constructor(
    private readonly longestRest: number,
    private readonly onRested: () => void,
  ) {}

  get any(): boolean {
    return claimPaths.some((path) => this.on(path));
  }

  on(path: ClaimPath): boolean {
    return this.worthALook.has(path) && performance.now() >= (this.notBefore.get(path) ?? 0);
  }

  /** Something may be there. */
  open(path: ClaimPath): void {
    this.worthALook.add(path);
  }

  /** Somebody looks there now. */
  looked(path: ClaimPath): void {
    this.worthALook.delete(path);
  }

  /** @param took how long the look took that found nothing, in ms */
  rest(path: ClaimPath, took: number): void {
    // Of a scan that took long because PostgreSQL stood still, the duration says nothing.
    const rest = Math.min(this.longestRest, scanRest * took);
    this.notBefore.set(path, performance.now() + rest);
    clearTimeout(this.timers.get(path));
    const timer = setTimeout(() => {
      // The timer itself ends the rest: it can fire a fraction of a millisecond before the clock says so, and nothing else
      // would come by to look.
      this.notBefore.delete(path);
      this.onRested();
    }, rest);
    this.timers.set(path, timer);
  }

  close(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
  }
}
