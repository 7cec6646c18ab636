import type { Settlement } from '../../libs/deliveries/src/settle/decide-settlement';
import type { ChannelName } from './commands';
import { must } from './violation';

/** A delivery as the model knows it: what its row must say. */
export interface ModelDelivery {
  /** Its number in the history, which its payload carries. */
  readonly n: number;
  readonly channel: ChannelName;
  readonly key: string | null;
  id: string;
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  attempts: number;
  attemptsAtRetry: number;
  crashes: number;
  token: string | null;
  lease: 'none' | 'running' | 'over';
  due: boolean;
  /** Rows of `delivery_attempts`: number, outcome, error. */
  rows: string[];
  lastError: string | null;
  /** Older than its channel's `maxAge`, counted from the creation or the last retry. */
  tooOld: boolean;
  /** Days since it ended. */
  endedFor: number;
}

export interface NewDelivery extends Pick<ModelDelivery, 'n' | 'channel' | 'key'> {
  readonly later: boolean;
}

/** A send that the receiver saw begin. */
interface Send {
  readonly n: number;
  readonly token: string;
}

type Place = Pick<ModelDelivery, 'channel' | 'key'>;

/** Everything that was ever committed for a key, in the order of the commits. */
interface Line extends Place {
  readonly numbers: number[];
}

const nameOf = ({ channel, key }: Place): string => `${channel}/${key}`;

/**
 * The queue in plain TypeScript: what is committed, what may be claimed, what an outcome does. It knows no SQL, no index
 * and no time: whether something is due, and whether a lease is over, is moved by hand here and in the tables alike.
 */
export class QueueModel {
  readonly deliveries = new Map<number, ModelDelivery>();
  /** What a rule of retention, or an abandonment, took away, with its id. */
  readonly removed = new Map<number, string>();
  readonly lines = new Map<string, Line>();
  /** The delivery whose row an open transaction has locked. */
  locked: number | undefined;
  /** Claim tokens whose leases still run, also those of cancelled deliveries. */
  private readonly running = new Map<number, string>();
  /** Numbers and tokens of all claims there ever were: the two together are the fence. */
  private readonly given = new Set<string>();
  private readonly tokens = new Set<string>();
  private readonly sends: Send[] = [];

  of(n: number): ModelDelivery {
    return this.deliveries.get(n)!;
  }

  all(which: (delivery: ModelDelivery) => boolean = () => true): ModelDelivery[] {
    return [...this.deliveries.values()].filter(which);
  }

  /** A recorder's transaction committed. Its deliveries come in the order in which they were recorded. */
  commit(recorded: readonly NewDelivery[]): void {
    for (const { n, channel, key, later } of recorded) {
      this.deliveries.set(n, {
        n,
        channel,
        key,
        id: '',
        status: 'pending',
        attempts: 0,
        attemptsAtRetry: 0,
        crashes: 0,
        token: null,
        lease: 'none',
        due: !later,
        rows: [],
        lastError: null,
        tooOld: false,
        endedFor: 0,
      });
      if (key === null) continue;
      const line = this.lines.get(nameOf({ channel, key })) ?? { channel, key, numbers: [] };
      line.numbers.push(n);
      this.lines.set(nameOf(line), line);
    }
  }

  private lineOf(place: Place): number[] {
    return this.lines.get(nameOf(place))?.numbers ?? [];
  }

  /** Deliveries that still hold their key back, in commit order; one whose lease ran out does so until a scan notices. */
  unfinished(place: Place): ModelDelivery[] {
    return this.lineOf(place)
      .filter((n) => !this.removed.has(n))
      .map((n) => this.of(n))
      .filter(({ status, lease }) => status === 'pending' || status === 'failed' || lease !== 'none');
  }

  private isClaimable(delivery: ModelDelivery): boolean {
    return delivery.status === 'pending' && delivery.due && delivery.n !== this.locked;
  }

  /** Deliveries without a key that a claim may take now. */
  claimable(channel: ChannelName): ModelDelivery[] {
    return this.all((delivery) => delivery.channel === channel && delivery.key === null && this.isClaimable(delivery));
  }

  /** Heads of keys that a claim may take now. */
  claimableHeads(channel: ChannelName): ModelDelivery[] {
    return this.heads(channel).filter((delivery) => this.isClaimable(delivery));
  }

  /** The first unfinished delivery of each key of a channel. */
  heads(channel: ChannelName): ModelDelivery[] {
    const lines = [...this.lines.values()].filter((line) => line.channel === channel);
    return lines.flatMap((line) => this.unfinished(line).slice(0, 1));
  }

  /** Whether a claim had this token before: each statement has its own. */
  isUsed(token: string): boolean {
    return this.tokens.has(token);
  }

  /** A claim, or a settle that goes on with the key, took the delivery. */
  claim(n: number, token: string): void {
    const delivery = this.of(n);
    const given = `${n} ${token}`;
    must(!this.given.has(given), 'a delivery was given the same claim token twice', () => ({ n, token }));
    this.given.add(given);
    this.tokens.add(token);
    if (delivery.token !== null) {
      delivery.rows.push(`${delivery.attempts} crashed crashed`);
      delivery.crashes += 1;
    }
    delivery.attempts += 1;
    delivery.due = false;
    delivery.token = token;
    delivery.lease = 'running';
    this.running.set(n, token);
  }

  /** Whether the claim's own lease still runs, whoever has the delivery now. */
  leaseRuns(n: number, token: string): boolean {
    return this.running.get(n) === token;
  }

  /** A send begins: here every rule about what may be sent is checked. */
  send(n: number, token: string): void {
    const delivery = this.deliveries.get(n);
    must(delivery !== undefined, 'something was sent that is not committed', () => `#${n}`);
    const busy = this.sends.find((send) => this.inOneLine(send.n, delivery) && this.leaseRuns(send.n, send.token));
    must(busy === undefined, 'two sends of one key are in flight', () => `#${n} beside #${busy!.n}`);
    if (delivery.key !== null) this.checkOrder(delivery);
    this.sends.push({ n, token });
  }

  private inOneLine(n: number, { n: other, channel, key }: ModelDelivery): boolean {
    if (n === other) return true;
    const sent = this.deliveries.get(n);
    return key !== null && sent?.key === key && sent.channel === channel;
  }

  private checkOrder(delivery: ModelDelivery): void {
    const line = this.lineOf(delivery);
    const place = line.indexOf(delivery.n);
    const blocker = line.slice(0, place).find((n) => {
      const earlier = this.deliveries.get(n);
      if (!earlier) return false;
      return earlier.status === 'cancelled' ? earlier.lease === 'running' : earlier.status !== 'succeeded';
    });
    must(blocker === undefined, 'a delivery was sent while an earlier one of its key held it back', () => [
      `#${delivery.n} behind #${blocker}`,
      this.deliveries.get(blocker!),
    ]);
    const later = this.sends.find((send) => line.indexOf(send.n) > place);
    must(later === undefined, 'sends of a key began in another order than its commits', () => {
      return `#${delivery.n} after #${later!.n}`;
    });
  }

  /** Whether the claim still holds its delivery. */
  holds(n: number, token: string): boolean {
    return this.deliveries.get(n)?.token === token;
  }

  settle(n: number, settlement: Settlement): void {
    const delivery = this.of(n);
    if (settlement.attempt) {
      const { outcome, error } = settlement.attempt;
      delivery.rows.push(`${delivery.attempts} ${outcome} ${error}`);
    }
    delivery.status = settlement.status;
    delivery.lastError = settlement.status === 'succeeded' ? null : settlement.attempt.error;
    delivery.due = settlement.status === 'pending' && settlement.dueIn === 0;
    this.endLease(delivery);
  }

  /** What a settle that may go on with the key must claim: the next, if nothing forbids it. */
  next(n: number): ModelDelivery | undefined {
    const delivery = this.of(n);
    if (delivery.key === null || delivery.status !== 'succeeded') return undefined;
    const line = this.lineOf(delivery);
    const next = this.unfinished(delivery).find((other) => line.indexOf(other.n) > line.indexOf(n));
    return next && this.isClaimable(next) && next.token === null && next.crashes === 0 ? next : undefined;
  }

  /** A claim is given back as if it had not been made; only whoever still holds the delivery can do so. */
  giveBack(n: number, token: string): void {
    if (!this.holds(n, token)) return;
    const delivery = this.of(n);
    delivery.attempts -= 1;
    delivery.due = true;
    this.endLease(delivery);
  }

  private endLease(delivery: ModelDelivery): void {
    delivery.token = null;
    delivery.lease = 'none';
    this.running.delete(delivery.n);
  }

  /** The lease is over; the row still says so. */
  leaseEnds(n: number): void {
    const delivery = this.of(n);
    if (delivery.lease !== 'none') delivery.lease = 'over';
    if (delivery.token !== null) delivery.due = true;
    this.running.delete(n);
  }

  /** A scan found that the lease of a cancelled delivery is over: nothing holds the key any more. */
  release(n: number): void {
    this.of(n).lease = 'none';
  }

  cancel(n: number): void {
    const delivery = this.of(n);
    if (delivery.token !== null) {
      const how = delivery.lease === 'running' ? 'cancelled' : 'crashed';
      delivery.rows.push(`${delivery.attempts} ${how} ${how}`);
    }
    delivery.status = 'cancelled';
    delivery.due = false;
    delivery.token = null;
    // An attempt that may still reach the receiver holds the key until its lease ends.
    if (delivery.lease === 'over') delivery.lease = 'none';
    delivery.endedFor = 0;
  }

  retry(n: number, restartAgeBehind: boolean): void {
    const delivery = this.of(n);
    delivery.status = 'pending';
    // One that was cancelled in flight is due when that attempt's lease ends.
    delivery.due = delivery.lease !== 'running';
    if (delivery.lease === 'over') delivery.lease = 'none';
    delivery.attemptsAtRetry = delivery.attempts;
    delivery.crashes = 0;
    delivery.endedFor = 0;
    delivery.tooOld = false;
    if (restartAgeBehind && delivery.key !== null) {
      for (const behind of this.unfinished(delivery)) if (behind.status === 'pending') behind.tooOld = false;
    }
  }

  /** What clean-up deletes: each way to end has its own time. */
  pastRetention(): ModelDelivery[] {
    return this.all((each) => {
      if (each.n === this.locked || (each.status === 'failed' && each.key !== null)) return false;
      return each.status !== 'pending' && each.endedFor >= (each.status === 'succeeded' ? 7 : 30);
    });
  }

  /** Failures that have held their keys for 30 days, with what waits behind each. @param isHeld by an open recorder */
  abandonable(isHeld: (place: Place) => boolean): { failure: ModelDelivery; waiting: ModelDelivery[] }[] {
    return [...this.lines.values()].flatMap((line) => {
      const [failure, ...behind] = this.unfinished(line);
      if (failure?.status !== 'failed' || failure.endedFor < 30 || isHeld(line)) return [];
      const waiting = behind.filter(({ status }) => status === 'pending');
      // A key is abandoned whole, or not now.
      return [failure, ...waiting].some(({ n }) => n === this.locked) ? [] : [{ failure, waiting }];
    });
  }

  abandon({ failure, waiting }: { failure: ModelDelivery; waiting: readonly ModelDelivery[] }): void {
    this.remove(failure.n);
    for (const each of waiting) {
      each.status = 'cancelled';
      each.lastError = 'abandoned';
      each.due = false;
      each.endedFor = 0;
    }
  }

  remove(n: number): void {
    this.removed.set(n, this.of(n).id);
    this.deliveries.delete(n);
    this.running.delete(n);
  }
}
