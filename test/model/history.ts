import type { Command } from './commands';
import { OperatorSteps } from './operator-steps';
import { RecorderSteps } from './recorder-steps';
import { ReplicaSteps } from './replica-steps';
import { Stage } from './stage';
import { lookAt, TableChecks } from './tables';
import { TimeSteps } from './time-steps';
import { must } from './violation';
import type { World } from './world';

/** Plays one history on the tables and on the model side by side, and compares them after each step. */
export class History {
  private readonly stage: Stage;
  private readonly checks = new TableChecks();
  private readonly recorders: RecorderSteps;
  private readonly time: TimeSteps;
  private readonly replicas: ReplicaSteps;
  private readonly operators: OperatorSteps;

  constructor(world: World) {
    this.stage = new Stage(world);
    this.recorders = new RecorderSteps(this.stage);
    this.time = new TimeSteps(this.stage);
    this.replicas = new ReplicaSteps(this.stage, () => this.time.unlocked());
    this.operators = new OperatorSteps(this.stage, this.recorders.recorders, this.checks);
  }

  /** What happened, in words. */
  get log(): string[] {
    return this.stage.log;
  }

  async play(commands: readonly Command[]): Promise<void> {
    for (const command of commands) {
      const words = this.log.length;
      await this.step(command);
      if (this.log.length > words) await this.check();
    }
    await this.endAll();
  }

  /** After a failure: lets go of the sends that are still in flight, whose time limits would keep the process alive. */
  abandon(): void {
    this.replicas.crashAll();
  }

  private async step(command: Command): Promise<void> {
    switch (command.do) {
      case 'record':
        return this.recorders.record(command);
      case 'release':
      case 'roll back to savepoint':
        return this.recorders.endSavepoint(command);
      case 'commit':
      case 'roll back':
      case 'kill the connection':
        return this.recorders.end(command);
      case 'claim':
      case 'claim heads':
        return this.replicas.claim(command);
      case 'send':
        return this.replicas.send(command);
      case 'give back':
        return this.replicas.giveSomeBack(command);
      case 'settle':
        return this.replicas.settle(command);
      case 'crash':
        return this.replicas.crash(command.replica, 'crashes');
      case 'shut down':
        return this.replicas.shutDown(command.replica);
      case 'lease ends':
      case 'comes due':
      case 'grows too old':
      case 'retention passes':
        return this.time.pass(command);
      case 'lock the row':
        return this.time.lock(command);
      case 'unlock the row':
        return this.unlock();
      case 'retry':
        return this.operators.retry(command);
      case 'cancel':
        return this.operators.cancel(command);
      case 'clean up':
        return this.operators.cleanUp(command);
    }
  }

  private async unlock(): Promise<void> {
    await this.time.unlock();
    await this.replicas.goOn();
  }

  private async check(): Promise<void> {
    const { world, model, noted, audit } = this.stage;
    const tables = await lookAt(world.hand);
    this.stage.tables = tables;
    this.checks.check(tables, model);
    const found = tables.events.map(({ type, actor, delivery }) => [type, actor, delivery].filter(Boolean).join(' '));
    const [is, should] = [found, [...noted.map(() => 'noted'), ...audit]].map((events) =>
      JSON.stringify(events.toSorted()),
    );
    must(is === should, 'events and what happened do not add up', () => ({ is, should }));
  }

  /**
   * Ends everything that is open, and then lets nothing fail any more: what was committed must be sent, except behind
   * a failure, and that as well once an operator has retried the failure.
   */
  private async endAll(): Promise<void> {
    const { model } = this.stage;
    this.stage.say('The end: everything open ends, everything comes due, and nothing fails any more.');
    await this.recorders.endAll();
    await this.unlock();
    this.replicas.crashAll();
    await this.check();
    for (;;) {
      await this.time.passForAll();
      for (let idle = 0; idle < 2;) idle = (await this.replicas.sendAllDue()) ? 0 : idle + 1;
      await this.check();
      const lost = model.all((each) => {
        if (each.status !== 'pending') return false;
        return each.key === null || model.unfinished(each)[0]!.status !== 'failed';
      });
      must(lost.length === 0, 'a delivery is never sent', () => lost);
      const failures = model.all(({ status, key }) => status === 'failed' && key !== null);
      if (failures.length === 0) return;
      for (const { n } of failures) await this.operators.retryOne(n, true);
    }
  }
}
