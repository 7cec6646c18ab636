import type { Do } from './commands';
import { choose, type Stage, within } from './stage';

/** What time does, moved in the tables, and somebody who locks a row for a while. */
export class TimeSteps {
  private unlocks: { promise: Promise<void>; open: () => void } | undefined;

  constructor(private readonly stage: Stage) {}

  /** Resolves when no row is locked. */
  unlocked(): Promise<void> {
    return this.unlocks?.promise ?? Promise.resolve();
  }

  async pass({ do: what, pick }: Do<'lease ends'>): Promise<void> {
    const { model } = this.stage;
    const free = model.all(({ n }) => n !== model.locked);
    const move = (n: number, sql: string): Promise<unknown> =>
      within(
        this.stage.world.hand.query(`UPDATE deliveries.deliveries SET ${sql} WHERE id = $1`, [model.of(n).id]),
        'a row that nobody has locked',
      );
    const past = `clock_timestamp() - interval '1 ms'`;
    switch (what) {
      case 'lease ends': {
        const chosen = choose(
          free.filter((each) => each.lease === 'running'),
          pick,
        );
        if (!chosen) return;
        this.stage.say(`the lease of #${chosen.n} ends`);
        await move(
          chosen.n,
          `lease_expires_at = ${past}, due_at = CASE WHEN claim_token IS NULL THEN due_at ELSE ${past} END`,
        );
        return model.leaseEnds(chosen.n);
      }
      case 'comes due': {
        const chosen = choose(
          free.filter((each) => each.status === 'pending' && !each.due && each.token === null),
          pick,
        );
        if (!chosen) return;
        this.stage.say(`#${chosen.n} comes due`);
        // least() passes over a lease that is not there, so it is asked for.
        await move(
          chosen.n,
          `due_at = ${past}, lease_expires_at = CASE WHEN lease_expires_at IS NOT NULL THEN least(lease_expires_at, ${past}) END`,
        );
        // Of one that was cancelled in flight and revived, the lease of that attempt is over as well.
        model.leaseEnds(chosen.n);
        chosen.due = true;
        return;
      }
      case 'grows too old': {
        const chosen = choose(
          free.filter((each) => each.status === 'pending' && !each.tooOld),
          pick,
        );
        if (!chosen) return;
        this.stage.say(`#${chosen.n} grows too old`);
        await move(
          chosen.n,
          `created_at = created_at - interval '2 days', retried_at = retried_at - interval '2 days'`,
        );
        chosen.tooOld = true;
        return;
      }
      case 'retention passes': {
        const ended = free.filter((each) => each.status !== 'pending' && each.endedFor < 31);
        // Failures that hold a key count three times: what is rare else is an abandonment.
        const holding = ended.filter((each) => each.status === 'failed' && each.key !== null);
        const chosen = choose([...ended, ...holding, ...holding], pick);
        if (!chosen) return;
        const days = pick < 40 ? 8 : 31;
        this.stage.say(`${days} days pass for #${chosen.n}`);
        await move(
          chosen.n,
          `settled_at = settled_at - interval '${days} days', lease_expires_at = lease_expires_at - interval '${days} days'`,
        );
        chosen.endedFor += days;
        if (chosen.lease === 'running') model.leaseEnds(chosen.n);
        return;
      }
    }
  }

  /** An open transaction of somebody who is none of the queue's business. */
  async lock({ pick }: Do<'lock the row'>): Promise<void> {
    const { model, world } = this.stage;
    const chosen = choose(model.all(), pick);
    if (!chosen || model.locked !== undefined) return;
    this.stage.say(`somebody locks the row of #${chosen.n}`);
    await world.other.query('BEGIN');
    await world.other.query('SELECT FROM deliveries.deliveries WHERE id = $1 FOR UPDATE', [chosen.id]);
    model.locked = chosen.n;
    let open!: () => void;
    const promise = new Promise<void>((resolve) => (open = resolve));
    this.unlocks = { promise, open };
  }

  async unlock(): Promise<void> {
    const { model, world } = this.stage;
    if (model.locked === undefined) return;
    this.stage.say(`the row of #${model.locked} is unlocked`);
    await world.other.query('COMMIT');
    model.locked = undefined;
    this.unlocks?.open();
    this.unlocks = undefined;
  }

  /** Everything comes due, and every lease ends. */
  async passForAll(): Promise<void> {
    const { model, world } = this.stage;
    await world.hand.query(`
      UPDATE deliveries.deliveries
         SET due_at = clock_timestamp(), lease_expires_at = CASE WHEN lease_expires_at IS NULL THEN NULL ELSE clock_timestamp() END
       WHERE status = 'pending' OR lease_expires_at IS NOT NULL`);
    for (const delivery of model.all()) {
      model.leaseEnds(delivery.n);
      if (delivery.status === 'pending') delivery.due = true;
    }
  }
}
