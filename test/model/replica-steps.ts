import { settled as settledBy } from '../support/settled';
import type { Claim } from '../../libs/deliveries/src/delivery/claim';
import { failed, type Outcome, retry, skipped, succeeded } from '../../libs/deliveries/src/delivery/outcome';
import { refusalToSend } from '../../libs/deliveries/src/send/refusal';
import { decideSettlement, type Settlement } from '../../libs/deliveries/src/settle/decide-settlement';
import type { Settled } from '../../libs/deliveries/src/settle/settler';
import type { Accident, Answer, ChannelName, Do } from './commands';
import { channelNames } from './commands';
import type { ModelDelivery } from './queue-model';
import { type InFlight, type InHand, Replica } from './replica';
import { choose, type Stage, within } from './stage';
import { lookAt } from './tables';
import { must } from './violation';
import { lease, limits } from './world';

/** An outcome on its way. */
interface Report {
  readonly flight: InFlight;
  readonly settlement: Settlement;
  readonly chain: boolean;
  readonly result: Promise<Settled>;
}

const outcomes: Record<Exclude<Answer, 'thrown'>, Outcome> = {
  succeeded: succeeded(),
  retry: retry(503),
  failed: failed(410),
  skipped: skipped('address_removed'),
  'unavailable for an hour': retry(429, { retryAfter: '3600' }),
};

/** What replicas do: claim, send, settle, give back, stop, vanish. */
export class ReplicaSteps {
  private readonly replicas: Replica[];
  /** An outcome of the delivery whose row is locked. */
  private held: { report: Report; replica: number } | undefined;

  constructor(
    private readonly stage: Stage,
    /** Resolves when no row is locked. */
    private readonly unlocked: () => Promise<void>,
  ) {
    this.replicas = stage.world.workerDatabases.map((_, index) => this.newReplica(index));
  }

  /** The row of a delivery was unlocked: its outcome can be written. */
  async goOn(): Promise<void> {
    const { held } = this;
    this.held = undefined;
    if (held) await this.applyReport(held.replica, held.report, false);
  }

  crashAll(): void {
    this.replicas.forEach((_, index) => this.crash(index, 'crashes'));
  }

  private newReplica(index: number): Replica {
    const { workerDatabases, hand } = this.stage.world;
    return new Replica(workerDatabases[index]!, hand, () => this.unlocked());
  }

  async claim({ do: what, replica, pick, slots }: Do<'claim'>): Promise<void> {
    const may = what === 'claim' ? this.mayBeClaimed : this.hasHeads;
    const channel = choose(channelNames.filter(may), pick) ?? channelNames[pick % channelNames.length]!;
    await (what === 'claim' ? this.claimDue(replica, channel, slots) : this.claimHeads(replica, channel, slots));
  }

  private readonly mayBeClaimed = (channel: ChannelName): boolean => this.stage.model.claimable(channel).length > 0;

  private readonly hasHeads = (channel: ChannelName): boolean => this.stage.model.claimableHeads(channel).length > 0;

  private async claimDue(replica: number, channel: ChannelName, slots: number): Promise<void> {
    const may = this.stage.model.claimable(channel);
    const claims = await within(this.replicas[replica]!.claimer.claim(channel, slots, lease, 0), 'a claim');
    const taken = this.take(replica, claims, may);
    must(taken.length === Math.min(slots, may.length), 'a claim took too few', () => [taken, may]);
    const dueAt = new Map(this.stage.tables.deliveries.map((row) => [row.n, row.dueAt]));
    const latest = Math.max(...taken.map((n) => dueAt.get(n)!));
    const passed = may.find(({ n }) => !taken.includes(n) && dueAt.get(n)! < latest);
    must(passed === undefined, 'a claim passed over what was due longer', () => [taken, passed]);
  }

  private async claimHeads(replica: number, channel: ChannelName, slots: number): Promise<void> {
    const cursor = this.replicas[replica]!.cursors[channel]!;
    const may = this.stage.model.claimableHeads(channel);
    const fromTheStart = cursor.key === '' && this.stage.model.locked === undefined;
    const { claims } = await within(
      this.replicas[replica]!.claimer.claimHeads(channel, slots, lease, cursor),
      'a claim of heads',
    );
    const heads = this.stage.model.heads(channel);
    const taken = this.take(replica, claims, may);
    const few = taken.length < Math.min(slots, may.length);
    must(!(fromTheStart && few), 'a claim of heads took too few', () => [taken, may]);
    await this.noticeReleased(heads, fromTheStart && may.length < slots);
  }

  /** Heads that were cancelled in flight and whose leases are over: a scan that comes by takes them out of the way. */
  private async noticeReleased(heads: ModelDelivery[], mustBe: boolean): Promise<void> {
    const spent = heads.filter(({ status, lease: of }) => status === 'cancelled' && of === 'over');
    if (spent.length === 0) return;
    const rows = new Map((await lookAt(this.stage.world.hand)).deliveries.map((row) => [row.n, row]));
    for (const { n } of spent) {
      const released = rows.get(n)?.lease === 'none';
      must(released || !mustBe, 'a scan left a cancelled head whose lease is over', () => `#${n}`);
      if (!released) continue;
      this.stage.say(`  #${n} holds its key no longer`);
      this.stage.model.release(n);
    }
  }

  private take(replica: number, claims: readonly Claim[], may: readonly ModelDelivery[]): number[] {
    const taken = claims.map((claim) => numberOf(claim));
    const used = claims.filter(({ token }) => this.stage.model.isUsed(token));
    must(used.length === 0, 'two claims had the same token', () => used);
    for (const n of taken) {
      must(
        may.some((delivery) => delivery.n === n),
        'something was claimed that must not be',
        () => [`#${n}`, this.stage.model.deliveries.get(n)],
      );
    }
    if (claims.length > 0)
      this.stage.say(`replica ${replica} claims ${taken.map((n) => this.stage.name(n)).join(', ')}`);
    for (const claim of claims) this.hold(replica, claim);
    return taken;
  }

  private hold(replica: number, claim: Claim): void {
    const n = numberOf(claim);
    this.stage.model.claim(n, claim.token);
    const { attempts, crashes, tooOld } = this.stage.model.of(n);
    must(claim.attempt === attempts && claim.crashes === crashes, 'a claim counts otherwise than its row', () => claim);
    this.replicas[replica]!.inHand.push({ n, claim, tooOld });
  }

  /** One of the replicas that have something in hand, or in flight. */
  private choose(pick: number, where: 'inHand' | 'inFlight'): number | undefined {
    const fit = [...this.replicas.keys()].filter((index) => this.replicas[index]![where].length > 0);
    return choose(fit, pick);
  }

  async send({ pick, count }: Do<'send'>): Promise<void> {
    const replica = this.choose(pick, 'inHand');
    if (replica === undefined) return;
    const { inHand } = this.replicas[replica]!;
    for (const each of inHand.splice(0, count)) {
      await this.beginSend(replica, each);
    }
  }

  private async beginSend(replica: number, inHand: InHand): Promise<void> {
    const { n, claim, tooOld } = inHand;
    const refusal = refusalToSend(claim.delivery, claim.crashes, claim.claimedAt, limits[channelOf(claim)].maxAge);
    must(
      (refusal !== undefined) === (tooOld || claim.crashes >= 6),
      'what is too old is not sent, and only that',
      () => n,
    );
    if (refusal) {
      this.stage.say(`replica ${replica} does not send #${n}: it is too old, or crashed too often`);
      this.replicas[replica]!.refuse(inHand, refusal);
    } else if (!this.stage.model.leaseRuns(n, claim.token)) {
      await this.giveBack(replica, [inHand], ', since its lease is over');
    } else {
      this.stage.say(`replica ${replica} begins to send #${n}`);
      this.stage.model.send(n, claim.token);
      this.replicas[replica]!.send(inHand);
    }
  }

  async giveSomeBack({ pick, count }: Do<'give back'>): Promise<void> {
    const replica = this.choose(pick, 'inHand');
    if (replica === undefined) return;
    await this.giveBack(replica, this.replicas[replica]!.inHand.splice(0, count));
  }

  private async giveBack(replica: number, given: readonly InHand[], why = ''): Promise<void> {
    // Giving back waits for whoever has locked the row; the history would wait for itself.
    const free = given.filter(({ n }) => n !== this.stage.model.locked);
    if (free.length === 0) return;
    this.stage.say(`replica ${replica} gives ${free.map(({ n }) => `#${n}`).join(', ')} back${why}`);
    const claims = free.map(({ claim }) => claim);
    await within(
      this.replicas[replica]!.claimer.giveBack(claims, (claim) => claim.wasDueAt),
      'a claim to be given back',
    );
    for (const { n, claim } of free) this.stage.model.giveBack(n, claim.token);
  }

  async settle(command: Do<'settle'>): Promise<void> {
    const index = this.choose(command.pick, 'inFlight');
    if (index === undefined) return;
    const flights = this.replicas[index]!.inFlight.splice(0, command.answers.length);
    const isHeld = flights.some(({ n, claim }) => this.isHeld(n, claim.token));
    const losesLine = command.accident === 'the request is lost' || command.accident === 'the reply is lost';
    const accident = isHeld && losesLine ? 'none' : command.accident;
    const settled: { flight: InFlight; settlement: Settlement }[] = [];
    for (const [place, flight] of flights.entries()) {
      const answer = command.answers[place]!;
      flight.answer(answer === 'thrown' ? answer : outcomes[answer]);
      settled.push({ flight, settlement: decide(flight.claim, await flight.sent, command.random) });
    }
    const words = settled.map(({ flight, settlement }) => `#${flight.n} ${sayOf(settlement)}`);
    this.stage.say(
      `replica ${index} settles ${words.join(', ')}${command.chain ? ', and goes on with the key' : ''}` +
        (accident === 'none' ? '' : `; ${accident}`),
    );
    await this.write(index, settled, command.chain, accident);
  }

  private isHeld(n: number, token: string): boolean {
    return this.stage.model.locked === n && this.stage.model.holds(n, token);
  }

  private async write(
    index: number,
    settled: readonly { flight: InFlight; settlement: Settlement }[],
    goOn: boolean,
    accident: Accident,
  ): Promise<void> {
    const { line, settler } = this.replicas[index]!;
    const happened = line.letHappen(accident);
    const reports = settled.map(({ flight, settlement }): Report => {
      const { claim } = flight;
      const chain = goOn && claim.delivery.orderingKey !== null;
      const result = settledBy(settler, {
        id: claim.delivery.id,
        token: claim.token,
        attempt: claim.attempt,
        settlement,
        startedAt: claim.claimedAt,
        giveUpAt: Infinity,
        chainLease: chain ? lease : undefined,
      });
      return { flight, settlement, chain, result };
    });
    if (accident === 'killed before the commit' || accident === 'killed after the commit') {
      await within(happened, 'a settle whose process is killed');
      if (accident === 'killed after the commit') await this.applyUnseen(reports);
      return this.crash(index, 'is dead');
    }
    for (const report of reports) {
      const { n, claim } = report.flight;
      if (this.isHeld(n, claim.token)) this.held = { report, replica: index };
      else await this.applyReport(index, report, accident === 'the reply is lost');
    }
  }

  private async applyReport(
    index: number,
    { flight, settlement, chain, result }: Report,
    unseen: boolean,
  ): Promise<void> {
    const { n, claim } = flight;
    const expected = this.stage.model.holds(n, claim.token) ? 'settled' : 'lost';
    const { result: is, next } = await within(result, `the outcome of #${n}`);
    must(is === expected, `an outcome was ${is} and must be ${expected}`, () => [
      n,
      claim.token,
      this.stage.model.deliveries.get(n),
    ]);
    if (expected === 'lost') return this.stage.say(`  the outcome of #${n} is dropped`);
    this.stage.model.settle(n, settlement);
    const follows = chain ? this.stage.model.next(n) : undefined;
    if (unseen) return this.adopt(follows);
    must((next && numberOf(next)) === follows?.n, 'a settle went on with something else than the next', () => [
      next,
      follows,
    ]);
    if (!next) return;
    this.stage.say(`  and claims ${this.stage.name(numberOf(next))}`);
    this.hold(index, next);
  }

  /** What a settle did whose process did not live to hear of it. */
  private async applyUnseen(reports: readonly Report[]): Promise<void> {
    for (const { flight, settlement, chain } of reports) {
      const { n, claim } = flight;
      if (!this.stage.model.holds(n, claim.token) || this.stage.model.locked === n) continue;
      this.stage.model.settle(n, settlement);
      if (chain) await this.adopt(this.stage.model.next(n));
    }
  }

  /** It was claimed for somebody who never heard of it. */
  private async adopt(delivery: ModelDelivery | undefined): Promise<void> {
    if (!delivery) return;
    const row = (await lookAt(this.stage.world.hand)).deliveries.find(({ n }) => n === delivery.n);
    must(typeof row?.token === 'string', 'a settle did not go on with the next of its key', () => delivery);
    this.stage.say(`  and claims ${this.stage.name(delivery.n)}, for nobody`);
    this.stage.model.claim(delivery.n, row.token);
  }

  crash(index: number, words: string): void {
    const replica = this.replicas[index]!;
    const had = replica.inHand.length + replica.inFlight.length > 0 || this.held?.replica === index;
    if (had || words !== 'crashes') this.stage.say(`replica ${index} ${words}`);
    replica.die();
    if (this.held?.replica === index) this.held = undefined;
    this.replicas[index] = this.newReplica(index);
  }

  async shutDown(index: number): Promise<void> {
    const replica = this.replicas[index]!;
    if (replica.inHand.length + replica.inFlight.length === 0) return;
    this.stage.say(`replica ${index} shuts down`);
    await this.giveBack(index, replica.inHand.splice(0));
    replica.abortSends();
    const flights = replica.inFlight.splice(0);
    for (const { answer } of flights) answer('thrown');
    const settled: { flight: InFlight; settlement: Settlement }[] = [];
    for (const flight of flights) {
      settled.push({ flight, settlement: decide(flight.claim, await flight.sent, 0) });
    }
    await this.write(index, settled, false, 'none');
    // It waits for a locked row no longer than a few seconds: the outcome is lost with it.
    this.crash(index, 'has shut down');
  }

  /** @returns whether there was anything to send or to release */
  async sendAllDue(): Promise<boolean> {
    const [replica] = this.replicas as [Replica];
    const words = this.stage.log.length;
    for (const channel of channelNames) {
      replica.cursors[channel]!.key = '';
      await this.claimDue(0, channel, 100);
      await this.claimHeads(0, channel, 100);
    }
    while (replica.inHand.length > 0) {
      const count = replica.inHand.length;
      await this.send({ do: 'send', pick: 0, count });
      const answers = Array<Answer>(count).fill('succeeded');
      await this.settle({ do: 'settle', pick: 0, answers, random: 0, chain: true, accident: 'none' });
    }
    return this.stage.log.length > words;
  }
}

const numberOf = ({ delivery }: Claim): number => (delivery.payload as { n: number }).n;

const channelOf = ({ delivery }: Claim): ChannelName => delivery.channel as ChannelName;

/** As the worker decides, by the clock of the claim. */
function decide(claim: Claim, outcome: Parameters<typeof decideSettlement>[0], random: number): Settlement {
  const { createdAt, retriedAt } = claim.delivery;
  const now = claim.claimedAt;
  const ages = { now, sinceAccepted: now - (retriedAt ?? createdAt).getTime(), untilDeadline: undefined };
  return decideSettlement(outcome, claim.attemptSinceRetry, ages, limits[channelOf(claim)], random);
}

const sayOf = (settlement: Settlement): string =>
  settlement.attempt ? `${settlement.attempt.outcome} ${settlement.attempt.error}` : settlement.status;
