import type { Do } from './commands';
import { places, sessionCount } from './commands';
import type { NewDelivery } from './queue-model';
import { RecordersModel } from './recorders-model';
import { plainSession, recorderSession, type Session } from './session';
import { choose, nameOf, patience, type Stage, within } from './stage';
import { must } from './violation';
import type { Wanted } from './world';

/** What recorders do in transactions of their own, several of which are open at once. */
export class RecorderSteps {
  readonly recorders: RecordersModel;
  private readonly sessions = new Map<number, Session>();
  /** Steps that wait for another recorder. */
  private readonly waiting = new Map<number, Promise<unknown>>();
  private count = 0;

  constructor(private readonly stage: Stage) {
    this.recorders = new RecordersModel((deliveries, events) => {
      stage.model.commit(deliveries);
      stage.noted.push(...events);
    });
  }

  /** Commits everything that is open. */
  async endAll(): Promise<void> {
    while (this.sessions.size > 0) {
      for (let pick = 0; pick < sessionCount; pick += 1) await this.end({ do: 'commit', pick });
    }
  }

  async record({ session, how, drafts, savepoint }: Do<'record'>): Promise<void> {
    if (this.waiting.has(session)) return;
    const wanted = drafts.map((place) => this.newDelivery(place));
    if (!this.recorders.mayRecord(session, how, wanted)) return;
    if (!this.sessions.has(session)) {
      const { dataSource, recorder } = this.stage.world.app;
      const opened = how === 'plain' ? plainSession(dataSource, recorder) : recorderSession(recorder);
      this.sessions.set(session, await within(opened, 'a transaction to begin'));
      this.recorders.begin(session, how);
    }
    if (savepoint !== 'none') await this.setSavepoint(session, savepoint);
    const { how: opened } = this.recorders.of(session)!;
    this.stage.say(`recorder ${session} (${opened}) records ${wanted.map(nameOf).join(', ')}`);
    // The module asks its channels one after the other: so do ordinals within one call.
    const payload: Wanted[] = wanted.map(({ n, channel, key, later }) => ({
      n,
      channel,
      ...(key === null ? {} : { orderingKey: key }),
      ...(later ? { notBefore: new Date('2100-01-01') } : {}),
    }));
    const step = this.sessions.get(session)!.record({ type: 'noted', payload });
    if (this.recorders.record(session, wanted) === 'done') await within(step, 'record');
    else await this.waits(session, step);
  }

  private newDelivery(place: number): NewDelivery {
    this.count += 1;
    const { channel, key } = places[place]!;
    return { n: this.count, channel, key, later: key === null && this.count % 4 === 0 };
  }

  /** The recorder's step waits, in PostgreSQL, for the one that the model says. */
  private async waits(session: number, step: Promise<unknown>): Promise<void> {
    const blocker = this.recorders.blockerOf(session)!;
    this.stage.say(`  it waits for recorder ${blocker}`);
    let ended = false;
    const ends = (): void => void (ended = true);
    step.then(ends, ends);
    this.waiting.set(session, step);
    const [waiter, holder] = [session, blocker].map((each) => this.sessions.get(each)!.pid) as [number, number];
    const until = performance.now() + patience;
    for (;;) {
      const { rows } = await this.stage.world.hand.query<{ pids: number[] }>('SELECT pg_blocking_pids($1) AS pids', [
        waiter,
      ]);
      if (rows[0]!.pids.includes(holder)) return;
      must(!ended, 'a recorder did not wait for another one that holds its key', () => ({ session, blocker }));
      must(performance.now() < until, 'a recorder waits for somebody else', () => ({ session, blocker, rows }));
    }
  }

  /** One of the open transactions, except those that wait. */
  private choose(pick: number, isFit: (session: number) => boolean = () => true): number | undefined {
    return choose(
      [...this.sessions.keys()].filter((session) => !this.waiting.has(session) && isFit(session)),
      pick,
    );
  }

  private async setSavepoint(session: number, how: 'raw' | 'nested'): Promise<void> {
    if (this.recorders.of(session)!.savepoints.length > 2) return;
    this.stage.say(`recorder ${session} sets a savepoint (${how})`);
    await within(this.sessions.get(session)!.savepoint(how), 'a savepoint');
    this.recorders.savepoint(session, how);
  }

  async endSavepoint({ do: what, pick }: Do<'release'>): Promise<void> {
    const session = this.choose(pick, (each) => this.recorders.of(each)!.savepoints.length > 0);
    if (session === undefined) return;
    if (what === 'release' || this.recorders.mayRollBackToSavepoint(session))
      await this.endLastSavepoint(session, what);
  }

  private async endLastSavepoint(session: number, what: Do<'release'>['do']): Promise<void> {
    const opened = this.sessions.get(session)!;
    const how = this.recorders.of(session)!.savepoints.at(-1)!;
    this.stage.say(`recorder ${session}: ${what} (${how})`);
    if (what === 'release') {
      await within(opened.release(how), 'to release a savepoint');
      this.recorders.release(session);
    } else {
      await within(opened.rollBackToSavepoint(how), 'to roll back to a savepoint');
      this.recorders.rollBackToSavepoint(session);
      await this.wakeUp();
    }
  }

  async end({ do: what, pick }: Do<'commit'>): Promise<void> {
    if (what === 'kill the connection') {
      const any = choose([...this.sessions.keys()], pick);
      if (any !== undefined) await this.killConnection(any, this.sessions.get(any)!);
      return;
    }
    const session = this.choose(pick);
    if (session !== undefined) await this.endOne(session, what);
  }

  private async endOne(session: number, what: 'commit' | 'roll back'): Promise<void> {
    const opened = this.sessions.get(session)!;
    // TypeORM counts its own savepoints: what it opened it must close before it commits.
    while (this.recorders.of(session)!.savepoints.length > 0) {
      await this.endLastSavepoint(session, 'release');
    }
    if (what === 'roll back') {
      this.stage.say(`recorder ${session} rolls back`);
      await within(opened.rollBack(), 'a rollback');
      this.recorders.rollBack(session);
    } else {
      if (!this.recorders.mayCommit(session)) return;
      this.stage.say(`recorder ${session} commits`);
      const step = opened.commit();
      if (this.recorders.commit(session) === 'waits') return this.waits(session, step);
      await within(step, 'a commit');
    }
    this.sessions.delete(session);
    await this.wakeUp();
  }

  private async killConnection(session: number, { pid, lost, abandon }: Session): Promise<void> {
    this.stage.say(`the connection of recorder ${session} is killed`);
    this.waiting.get(session)?.catch(() => undefined);
    const { hand } = this.stage.world;
    const noticed = lost();
    await hand.query('SELECT pg_terminate_backend($1)', [pid]);
    await within(noticed, 'a connection to end');
    while ((await hand.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])).rowCount !== 0);
    await within(abandon(), 'a killed transaction to end');
    this.waiting.delete(session);
    this.sessions.delete(session);
    this.recorders.rollBack(session);
    await this.wakeUp();
  }

  /** Locks were let go: those that waited for them go on. */
  private async wakeUp(): Promise<void> {
    const woken = this.recorders.wakeUp();
    for (const { session, step, progress } of woken) {
      if (progress === 'waits') continue;
      await within(this.waiting.get(session)!, `recorder ${session} to go on`);
      this.stage.say(`  recorder ${session} goes on: its ${step} is done`);
      this.waiting.delete(session);
      if (step === 'commit') this.sessions.delete(session);
    }
    for (const session of new Set(woken.map((each) => each.session))) {
      const step = this.waiting.get(session);
      if (step) await this.waits(session, step);
    }
  }
}
