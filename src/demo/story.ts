import { AccountActs } from './account-acts';
import { create, post } from './api';
import type { Facts, Promised } from './facts';
import { gate } from './gate';
import { accept, type Answer, type Receiver } from './receiver';
import { lease, sendTimeout, type Stage } from './stage';
import { WebhookActs } from './webhook-acts';

/** What the moody receiver asks for once, in seconds. */
const retryAfter = 2;

/** Tells the story act by act, and returns all that is known at its end. */
export class Story {
  private readonly promised: Promised[] = [];
  private readonly rolledBack: string[] = [];
  private readonly partners: Receiver[] = [];
  private leaseLost = 0;

  constructor(
    private readonly stage: Stage,
    private readonly say: (text: string) => void,
  ) {}

  async tell(): Promise<Facts> {
    const steady = await this.stage.receiver('Steady');
    await this.committedOrNot(steady);
    await this.killedBetweenSendingAndSettling(steady);
    await this.frozenPastItsLease(steady);
    await this.moodyReceiver();
    const accounts = await new AccountActs(this.stage, this.say).tell();
    const createAccount = (handle: string): Promise<void> => this.createAccount(this.stage.addressOfA, handle);
    const webhooks = await new WebhookActs(this.stage, this.say, createAccount).tell();
    for (const handle of ['lise', 'emmy', 'chien']) await this.stage.settled(handle);
    await this.stage.stopA();
    return {
      promised: this.promised,
      rolledBack: this.rolledBack,
      deliveries: await this.stage.deliveries(),
      arrivals: this.partners.flatMap(({ arrivals }) => arrivals),
      killed: 'hedy',
      frozen: 'joan',
      leaseLost: this.leaseLost,
      retryAfter: retryAfter * 1_000,
      accounts,
      webhooks,
    };
  }

  private async committedOrNot(steady: Receiver): Promise<void> {
    this.say(
      'Act 1. Replica A is up. The partner Steady registers; whoever creates an account lets Steady know. ada and grace ' +
        'get accounts. Two imports fail halfway, on a handle that is taken: alan and kurt were inserted and their ' +
        'deliveries recorded, and all of it is rolled back.',
    );
    const a = await this.stage.startA();
    await this.register(a, steady);
    for (const handle of ['ada', 'grace']) await this.createAccount(a, handle);
    await this.failImport(a, ['alan', 'ada']);
    await this.failImport(a, ['kurt', 'grace']);
    for (const handle of ['ada', 'grace']) await this.stage.settled(handle);
    this.say('       Steady has ada and grace, once each.');
  }

  private async killedBetweenSendingAndSettling(steady: Receiver): Promise<void> {
    this.say(
      'Act 2. A has ended in order and replica B, a process of its own, is up. hedy gets an account. Steady has the ' +
        'request of B in full when B is killed with SIGKILL: nobody hears the answer, and nothing writes it down.',
    );
    const [b] = await Promise.all([this.stage.startReplica('B'), this.stage.stopA()]);
    const created = gate();
    const killed = gate();
    steady.behave(async () => {
      steady.behave(accept);
      await created.passed;
      await b.kill();
      killed.open();
      return { status: 200 };
    });
    await this.createAccount(b.address, 'hedy');
    created.open();
    await killed.passed;
    await this.stage.startA();
    this.say(
      `       A is back. It takes over when the lease of ${lease / 1_000} s has run out, and sends again: same id.`,
    );
    await this.stage.settled('hedy');
  }

  private async frozenPastItsLease(steady: Receiver): Promise<void> {
    this.say(
      'Act 3. A has ended again and replica C is up. joan gets an account. C is frozen with SIGSTOP when Steady has its ' +
        'request, and stays frozen past its lease.',
    );
    const [c] = await Promise.all([this.stage.startReplica('C'), this.stage.stopA()]);
    const created = gate();
    const frozen = gate();
    const takenOver = gate();
    const answered = gate();
    steady.behave(async () => {
      steady.behave(accept);
      await created.passed;
      c.freeze();
      frozen.open();
      await takenOver.passed;
      setImmediate(() => answered.open());
      return { status: 200 };
    });
    await this.createAccount(c.address, 'joan');
    created.open();
    await frozen.passed;
    await this.stage.startA();
    await this.stage.settled('joan');
    takenOver.open();
    await answered.passed;
    c.thaw();
    this.leaseLost = await c.leaseLost();
    const code = await c.terminate();
    if (code !== 0) throw new Error(`Replica C was asked to end in order, and ended with exit code ${code}.`);
    this.say(
      '       A took over and delivered. C woke up, wanted to write its own outcome, and was refused: its claim no longer ' +
        'held. It counted a lost lease and, asked to end, ended in order.',
    );
  }

  private async moodyReceiver(): Promise<void> {
    this.say(
      `Act 4. The partner Moody registers. It answers 503 twice, then says nothing for ${sendTimeout / 1_000} s, then asks to ` +
        `be left alone for ${retryAfter} s, and only then takes what it is sent. mary gets an account. Steady need not wait for Moody.`,
    );
    const moody = await this.stage.receiver('Moody');
    const moods: Answer[] = [
      { status: 503 },
      { status: 503 },
      undefined,
      { status: 429, headers: { 'retry-after': String(retryAfter) } },
    ];
    moody.behave(() => (moods.length > 0 ? moods.shift() : { status: 200 }));
    await this.register(this.stage.addressOfA, moody);
    await this.createAccount(this.stage.addressOfA, 'mary');
    await this.stage.settled('mary');
  }

  private async register(address: string, receiver: Receiver): Promise<void> {
    await create(`${address}/partners`, { name: receiver.name, endpoint: receiver.url });
    this.partners.push(receiver);
  }

  private async createAccount(address: string, handle: string): Promise<void> {
    await create(`${address}/accounts`, { handle });
    this.promised.push(...this.partners.map(({ name }) => ({ handle, partner: name })));
  }

  /** @param handles the last of them is taken */
  private async failImport(address: string, handles: readonly string[]): Promise<void> {
    const { status } = await post(`${address}/accounts/import`, { handles });
    if (status !== 409) throw new Error(`An import with a taken handle was to answer 409, and answered ${status}.`);
    this.rolledBack.push(...handles.slice(0, -1));
  }
}
