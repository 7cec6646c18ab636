import type { Client } from 'pg';
import { Claimer, type KeyCursor } from '../../libs/deliveries/src/claim/claimer';
import type { WorkerDatabase } from '../../libs/deliveries/src/database/worker-database';
import type { Claim } from '../../libs/deliveries/src/delivery/claim';
import type { Outcome } from '../../libs/deliveries/src/delivery/outcome';
import { send, type Sent } from '../../libs/deliveries/src/send/send';
import { Shutdown } from '../../libs/deliveries/src/send/shutdown';
import type { SettleRow } from '../../libs/deliveries/src/settle/settle-statement';
import { Settler } from '../../libs/deliveries/src/settle/settler';
import { gate, type Gate } from '../faults/support/facts';
import { channelNames, type Accident } from './commands';

const schema = '"deliveries"';
const never = new Promise<never>(() => {});

/** A claimed delivery in the hands of a replica. */
export interface InHand {
  readonly n: number;
  readonly claim: Claim;
  /** What the model knew when it was claimed. */
  readonly tooOld: boolean;
}

/** One that is being sent, or that ends without a send. */
export interface InFlight extends InHand {
  readonly answer: (outcome: Outcome | 'thrown') => void;
  readonly sent: Promise<Sent['outcome']>;
}

/** The line between a replica and PostgreSQL, on which a history lets one settle have an accident. */
class Line {
  private accident: Accident = 'none';
  private happened: Gate = gate();
  dead = false;
  /** Ids and tokens of claims whose rows were locked when they were asked about. */
  private readonly locked = new Set<string>();

  constructor(
    private readonly database: WorkerDatabase,
    private readonly another: Client,
    /** Resolves when no row is locked: until then a second try could only hear the same. */
    private readonly unlocked: () => Promise<void>,
  ) {}

  /** Lets the next settle have an accident. @returns what resolves when it has happened */
  letHappen(accident: Accident): Promise<void> {
    this.accident = accident;
    this.happened = gate();
    return this.happened.passed;
  }

  async query<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    if (this.dead) return never;
    if (!name.startsWith('deliveries_settle')) return this.database.query<Row>(name, text, values);
    const [ids, tokens] = values as [string[], string[]];
    const claims = ids.map((id, index) => `${id} ${tokens[index]}`);
    if (claims.some((claim) => this.locked.has(claim))) {
      await this.unlocked();
      if (this.dead) return never;
    }
    const { accident } = this;
    this.accident = 'none';
    if (accident === 'killed before the commit') {
      this.dead = true;
      await this.another.query('BEGIN');
      await this.another.query(text, values);
      await this.another.query('ROLLBACK');
    } else if (accident !== 'the request is lost') {
      if (accident === 'killed after the commit') this.dead = true;
      const rows = await this.database.query<Row>(name, text, values);
      for (const row of rows as unknown as SettleRow[])
        if (row.answer === 'locked') this.locked.add(claims[row.after - 1]!);
      if (accident === 'none') return rows;
    }
    this.happened.open();
    if (this.dead) return never;
    throw Object.assign(new Error('the line broke'), { code: 'ECONNRESET' });
  }
}

/** The parts of a worker on connections of their own; what its slots and timers would do, the history does. */
export class Replica {
  readonly inHand: InHand[] = [];
  readonly inFlight: InFlight[] = [];
  readonly cursors: Record<string, KeyCursor> = Object.fromEntries(
    channelNames.map((name) => [name, { key: '', fromStart: true }]),
  );
  readonly line: Line;
  readonly claimer: Claimer;
  readonly settler: Settler;
  private readonly shutdown = new Shutdown();

  constructor(...line: ConstructorParameters<typeof Line>) {
    this.line = new Line(...line);
    const database = this.line as unknown as WorkerDatabase;
    this.claimer = new Claimer(database, schema);
    this.settler = new Settler(database, schema);
  }

  /** Calls the channel's `send`, which returns, or throws, when it is told to. */
  send(inHand: InHand): InFlight {
    const answered = gate();
    let answer: Outcome | 'thrown' = 'thrown';
    const handler = {
      deliveries: () => [],
      send: async () => {
        await answered.passed;
        if (answer === 'thrown') throw new TypeError('a mistake in the channel');
        return answer;
      },
    };
    const { delivery, attempt } = inHand.claim;
    const isHeld = (): Promise<boolean> => Promise.resolve(true);
    const sent = send(handler, delivery, attempt, 60_000, this.shutdown, isHeld).then(({ outcome }) => outcome);
    const inFlight: InFlight = {
      ...inHand,
      sent,
      answer: (outcome) => {
        answer = outcome;
        answered.open();
      },
    };
    this.inFlight.push(inFlight);
    return inFlight;
  }

  /** One that must not be sent: its outcome stands before. */
  refuse(inHand: InHand, outcome: Outcome): void {
    this.inFlight.push({ ...inHand, answer: () => undefined, sent: Promise.resolve(outcome) });
  }

  /** The shut-down grace is over. */
  abortSends(): void {
    this.shutdown.abort();
  }

  /** Nothing that it still has under way reaches PostgreSQL from now on. */
  die(): void {
    this.line.dead = true;
    for (const { answer } of this.inFlight) answer('thrown');
  }
}
