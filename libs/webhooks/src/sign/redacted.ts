import { inspect } from 'node:util';

/** What holds a secret: printed, inspected or turned into JSON, it says what it is and not what it holds. */
export abstract class Redacted {
  toString(): string {
    return `${this.constructor.name}(${this.describe()})`;
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }

  /** What may be shown. */
  protected abstract describe(): string;
}
