import type { Client } from 'pg';
import type { ModelDelivery, QueueModel } from './queue-model';
import { must } from './violation';

/** A delivery as its row says; the names are the model's. */
type Row = Omit<ModelDelivery, 'tooOld' | 'endedFor'> & {
  readonly ordinal: string | null;
  readonly ended: boolean;
  readonly dueAt: number;
};

export interface Tables {
  readonly deliveries: Row[];
  readonly events: { readonly type: string; readonly actor: string | null; readonly delivery: string | null }[];
  /** Keys that have a row to lock. */
  readonly orderings: string[];
}

// Everything in one look, so that each step costs one round trip; text for ordinals, which are more than a double holds.
const look = `
SELECT (
  SELECT coalesce(json_agg(json_build_object(
           'n', (d.payload->>'n')::integer, 'id', d.id, 'channel', d.channel, 'key', d.ordering_key, 'ordinal', d.ordinal::text,
           'status', d.status, 'attempts', d.attempts, 'attemptsAtRetry', d.attempts_at_retry, 'crashes', d.crashes,
           'token', d.claim_token, 'due', d.status = 'pending' AND d.due_at <= now(),
           'lease', CASE WHEN d.lease_expires_at IS NULL THEN 'none' WHEN d.lease_expires_at <= now() THEN 'over' ELSE 'running' END,
           'dueAt', extract(epoch FROM d.due_at), 'lastError', d.last_error, 'ended', d.settled_at IS NOT NULL,
           'rows', coalesce((SELECT json_agg(concat_ws(' ', a.number, a.outcome, a.error) ORDER BY a.number)
                              FROM deliveries.delivery_attempts a WHERE a.delivery_id = d.id), '[]'))), '[]')
    FROM deliveries.deliveries d) AS deliveries, (
  SELECT coalesce(json_agg(json_build_object('type', e.type, 'actor', e.actor, 'delivery', e.delivery_id)), '[]')
    FROM deliveries.events e) AS events, (
  SELECT coalesce(json_agg(o.channel || '/' || o.ordering_key), '[]') FROM deliveries.delivery_orderings o) AS orderings`;

export const lookAt = async (client: Client): Promise<Tables> =>
  (await client.query<Tables>({ name: 'look', text: look })).rows[0]!;

const compared = [
  'channel',
  'key',
  'status',
  'attempts',
  'attemptsAtRetry',
  'crashes',
  'token',
  'lease',
  'due',
  'lastError',
  'rows',
] as const satisfies (keyof Row)[];

/** What a history remembers of the tables from step to step. */
export class TableChecks {
  /** The highest ordinal that a key ever had. */
  private readonly ordinals = new Map<number, bigint>();
  /** What each delivery has, by id, when the tables were looked at last. */
  private readonly tokens = new Map<string, string | null>();
  /** Ids and tokens there have been. */
  private readonly hadTokens = new Set<string>();

  /** Every rule that can be read off the tables. */
  check(tables: Tables, model: QueueModel): void {
    const rows = new Map(tables.deliveries.map((row) => [row.n, row]));
    for (const { n } of model.all()) must(rows.has(n), 'a committed delivery is lost', () => model.of(n));
    for (const row of rows.values()) {
      const delivery = model.deliveries.get(row.n);
      must(delivery !== undefined, 'there is a delivery that is not committed, or was removed', () => row);
      delivery.id ||= row.id;
      this.checkToken(row);
      for (const column of compared) {
        const [found, expected] = [row[column], delivery[column]].map((value) => JSON.stringify(value));
        must(found === expected, `${column} of #${row.n} is ${found} and must be ${expected}`, () => [row, delivery]);
      }
      must(row.ended === (row.status !== 'pending'), 'settled_at goes with the status', () => row);
      checkAttempts(row);
    }
    this.checkOrdinals(rows, model);
    checkClaims([...rows.values()]);
  }

  /** Ordinals of keys were moved down, as if time had passed. */
  moveOrdinals(numbers: readonly number[], by: bigint): void {
    for (const n of numbers) if (this.ordinals.has(n)) this.ordinals.set(n, this.ordinals.get(n)! - by);
  }

  /** Tokens never come back: a delivery that no longer has one never has it again. */
  private checkToken({ token, id }: Row): void {
    if (this.tokens.get(id) === token) return;
    this.tokens.set(id, token);
    if (token === null) return;
    const pair = `${id} ${token}`;
    must(!this.hadTokens.has(pair), 'a claim token came back', () => pair);
    this.hadTokens.add(pair);
  }

  /** Ordinals rise in the order of commits, and none is given out twice, whatever was removed meanwhile. */
  private checkOrdinals(rows: Map<number, Row>, model: QueueModel): void {
    for (const row of rows.values()) if (row.ordinal !== null) this.ordinals.set(row.n, BigInt(row.ordinal));
    for (const { numbers } of model.lines.values()) {
      const seen = numbers.flatMap((n) => (this.ordinals.has(n) ? [{ n, ordinal: this.ordinals.get(n)! }] : []));
      const wrong = seen.find(({ ordinal }, index) => index > 0 && ordinal <= seen[index - 1]!.ordinal);
      must(wrong === undefined, 'ordinals of a key do not rise with its commits', () =>
        seen.map(({ n, ordinal }) => `#${n}: ${ordinal}`),
      );
    }
  }
}

/** Each attempt is counted once, and each that did not simply succeed has one row. */
function checkAttempts({ n, status, attempts, attemptsAtRetry, crashes, token, rows }: Row): void {
  const attempted = rows.map((row) => row.split(' ') as [number: string, outcome: string]);
  const open = token === null ? 0 : 1;
  const succeeded = status === 'succeeded' && attempted.at(-1)?.[1] !== 'skipped' ? 1 : 0;
  must(rows.length + open + succeeded === attempts, 'attempts and their rows do not add up', () => [n, attempts, rows]);
  const numbers = attempted.map(([number]) => Number(number));
  must(
    numbers.every((number, index) => number === index + 1),
    'rows of attempts are not numbered from 1',
    () => [n, rows],
  );
  // A cancel of an attempt whose worker had vanished writes it down as well, and nobody counts the crashes any more.
  if (status === 'cancelled') return;
  const crashed = attempted.filter(
    ([number, outcome]) => outcome === 'crashed' && Number(number) > attemptsAtRetry,
  ).length;
  must(crashed === crashes, 'crashes and their rows do not add up', () => [n, crashes, rows]);
}

function checkClaims(rows: Row[]): void {
  const claimed = rows
    .filter(({ key, token }) => key !== null && token !== null)
    .map(({ channel, key }) => `${channel}/${key}`);
  must(new Set(claimed).size === claimed.length, 'two deliveries of one key are claimed', () => claimed);
}
