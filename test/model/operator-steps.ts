import { DeliveryNotFoundError, DeliveryStateError } from 'nest-deliveries';
import type { Do } from './commands';
import type { ModelDelivery } from './queue-model';
import { lockOf, type RecordersModel } from './recorders-model';
import { choose, type Stage, within } from './stage';
import { lookAt, type TableChecks } from './tables';
import { must } from './violation';

const actor = 'somebody';
const days31 = 31n * 86_400_000_000n;

/** What operators and clean-up do. */
export class OperatorSteps {
  /** Keys under which nothing was recorded for a month, at some time. */
  private readonly everIdle = new Set<string>();

  constructor(
    private readonly stage: Stage,
    private readonly recorders: RecordersModel,
    private readonly checks: TableChecks,
  ) {}

  async retry({ pick, restartAgeBehind }: Do<'retry'>): Promise<void> {
    const n = this.choose(pick, ({ status }) => status === 'failed' || status === 'cancelled');
    if (n === undefined) return;
    const { model } = this.stage;
    const locked = model.locked === undefined ? undefined : model.of(model.locked);
    const { channel, key } = model.deliveries.get(n) ?? { channel: undefined, key: null };
    // It would wait for the locked row of one behind, and the history for itself.
    const waits = key !== null && locked?.key === key && locked.channel === channel;
    await this.retryOne(n, restartAgeBehind && !waits);
  }

  async retryOne(n: number, restartAgeBehind: boolean): Promise<void> {
    const { model, world, audit } = this.stage;
    const delivery = model.deliveries.get(n);
    const revives = delivery?.status === 'cancelled' && delivery.key === null && delivery.channel === 'mail';
    const expected = delivery && (delivery.status === 'failed' || revives ? 'done' : 'refused');
    const id = this.idOf(n);
    await this.ask('retry', n, expected ?? 'not found', world.app.operations.retry(id, { actor, restartAgeBehind }));
    if (expected !== 'done') return;
    model.retry(n, restartAgeBehind);
    audit.push(`delivery_retried ${actor} ${id}`);
  }

  async cancel({ pick }: Do<'cancel'>): Promise<void> {
    const { model, world, audit } = this.stage;
    const n = this.choose(pick, ({ status }) => status === 'failed' || status === 'pending');
    if (n === undefined) return;
    const delivery = model.deliveries.get(n);
    const ended = delivery?.status === 'succeeded' || delivery?.status === 'cancelled';
    const expected = delivery ? (ended ? 'refused' : 'done') : 'not found';
    const id = this.idOf(n);
    await this.ask('cancel', n, expected, world.app.operations.cancel(id, { actor }));
    if (expected !== 'done') return;
    model.cancel(n);
    audit.push(`delivery_cancelled ${actor} ${id}`);
  }

  /** Mostly one that it can be done to; never one whose row is locked, for which it would wait. */
  private choose(pick: number, isFit: (delivery: ModelDelivery) => boolean): number | undefined {
    const { model } = this.stage;
    const free = model.all(({ n }) => n !== model.locked);
    const fit = choose(free.filter(isFit), pick)?.n;
    return pick < 80 ? fit : choose([...free.map(({ n }) => n), ...model.removed.keys()], pick);
  }

  private idOf(n: number): string {
    return this.stage.model.deliveries.get(n)?.id ?? this.stage.model.removed.get(n)!;
  }

  private async ask(what: string, n: number, expected: string, answer: Promise<unknown>): Promise<void> {
    const asked = answer.then(
      () => 'done',
      (error: unknown) => {
        if (error instanceof DeliveryStateError) return 'refused';
        if (error instanceof DeliveryNotFoundError) return 'not found';
        throw error;
      },
    );
    const is = await within(asked, `an operator's ${what}`);
    this.stage.say(`an operator wants to ${what} #${n}: ${is}`);
    must(
      is === expected,
      `the ${what} was ${is} and must be ${expected}`,
      () => this.stage.model.deliveries.get(n) ?? n,
    );
  }

  /** One pass, after which the tables must hold what retention keeps, and its report must say what it did. */
  async cleanUp({ monthLater }: Do<'clean up'>): Promise<void> {
    const { model, world, audit } = this.stage;
    const idle = monthLater ? await this.letMonthPass() : new Set<string>();
    const past = model.pastRetention();
    const keys = model.abandonable((place) => this.recorders.holderOf(lockOf(place)) !== undefined);
    const forgotten = monthLater ? this.stage.noted.filter((caused) => caused.every((n) => model.removed.has(n))) : [];
    const before = (await lookAt(world.hand)).orderings;
    const report = await within(world.app.cleaner.runOnce(), 'a clean-up pass');
    const count = (status: string): number => past.filter((each) => each.status === status).length;
    const expected = {
      deleted: { succeeded: count('succeeded'), failed: count('failed'), cancelled: count('cancelled') },
      abandoned: { keys: keys.length, cancelled: keys.reduce((sum, { waiting }) => sum + waiting.length, 0) },
      events: forgotten.length,
    };
    this.stage.say(`clean-up${monthLater ? ', a month later' : ''}: ${JSON.stringify(report)}`);
    for (const [name, should] of Object.entries(expected)) {
      const is = report[name as keyof typeof expected];
      must(JSON.stringify(is) === JSON.stringify(should), `clean-up reports other ${name}`, () => ({
        is,
        should,
        past,
        keys,
      }));
    }
    for (const key of keys) {
      audit.push(`deliveries_abandoned clean-up ${key.failure.id}`);
      model.abandon(key);
    }
    for (const { n } of past) model.remove(n);
    this.stage.noted = this.stage.noted.filter((caused) => !forgotten.includes(caused));
    await this.checkOrderings(before, idle, report.orderings);
  }

  /** Rows of keys go when they are idle; a key with something unfinished, or an open recorder, keeps its row. */
  private async checkOrderings(before: string[], idle: ReadonlySet<string>, reported: number): Promise<void> {
    const left = (await lookAt(this.stage.world.hand)).orderings;
    const busy = [...this.stage.model.lines.values()].filter((line) => this.stage.model.unfinished(line).length > 0);
    const needed = new Set(busy.map(lockOf));
    const wrong = before.find((key) => {
      const isHeld = this.recorders.holderOf(key) !== undefined;
      const mayGo = this.everIdle.has(key) && !isHeld && !needed.has(key);
      return left.includes(key) ? mayGo && idle.has(key) : !mayGo;
    });
    must(wrong === undefined, 'clean-up kept, or took, the wrong row of a key', () => ({ wrong, left }));
    must(before.length - left.length === reported, 'clean-up reports other rows of keys', () => ({ before, left }));
  }

  /** @returns the keys that are idle now: those that no open transaction holds */
  private async letMonthPass(): Promise<Set<string>> {
    const { model, world } = this.stage;
    const free = this.stage.tables.orderings.filter((key) => this.recorders.holderOf(key) === undefined);
    const keys = [free.map((key) => key.split('/')[0]), free.map((key) => key.split('/')[1])];
    const unlocked = [...keys, model.locked === undefined ? null : model.of(model.locked).id];
    const these = `(channel, ordering_key) IN (SELECT * FROM unnest($1::text[], $2::text[]))`;
    await world.hand.query(`UPDATE deliveries.delivery_removals SET removed_at = removed_at - interval '31 days'`);
    if (model.locked !== undefined && model.of(model.locked).key !== null) return new Set();
    await world.hand.query(
      `UPDATE deliveries.deliveries SET ordinal = ordinal - ${days31} WHERE ${these} AND id IS DISTINCT FROM $3`,
      unlocked,
    );
    await world.hand.query(
      `UPDATE deliveries.delivery_orderings
          SET last_ordinal = last_ordinal - ${days31}, last_recorded_at = last_recorded_at - interval '31 days'
        WHERE ${these}`,
      keys,
    );
    for (const line of model.lines.values())
      if (free.includes(lockOf(line))) this.checks.moveOrdinals(line.numbers, days31);
    for (const key of free) this.everIdle.add(key);
    return new Set(free);
  }
}
