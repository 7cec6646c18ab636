import type { Contender, Query } from '../contender';

/** What a scenario works with: one contender, and a database that is prepared for it. */
export interface Setting {
  readonly name: string;
  readonly contender: Contender;
  readonly url: string;
  readonly query: Query;
}
