/** Tells sends in flight that the application has waited long enough. A Set, since a thousand sends come and go. */
export class Shutdown {
  private readonly listeners = new Set<() => void>();
  private over = false;

  add(listener: () => void): void {
    if (this.over) listener();
    else this.listeners.add(listener);
  }

  delete(listener: () => void): void {
    this.listeners.delete(listener);
  }

  abort(): void {
    this.over = true;
    for (const listener of this.listeners) listener();
    this.listeners.clear();
  }
}
