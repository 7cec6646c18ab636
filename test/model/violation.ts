/** A rule of the queue that a history broke, or a step whose answer was not the model's. */
export class Violation extends Error {
  constructor(rule: string, details: unknown) {
    super(`${rule}: ${typeof details === 'string' ? details : JSON.stringify(details)}`);
    this.name = 'Violation';
  }
}

export function must(isSo: boolean, rule: string, details: () => unknown): asserts isSo {
  if (!isSo) throw new Violation(rule, details());
}
