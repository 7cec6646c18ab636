// One of the two applications of BL-111. The parent says when to record and when a held send may end.
import 'reflect-metadata';
import { DeliveryChannel, retry, succeeded, type ChannelHandler, type Delivery, type Outcome } from 'nest-deliveries';
import { once } from 'node:events';
import { startDeliveriesApp } from '../support/deliveries-app';

/** What is recorded; instants are ms since 1970. */
export interface ClockPayload {
  readonly name: string;
  /** Asks for a retry at this instant, as an HTTP date. */
  readonly retryAt?: number;
  /** Waits for the parent. */
  readonly hold?: true;
}
export interface Order {
  readonly payload: ClockPayload;
  readonly notBefore?: number;
  readonly deadline?: number;
}
/** Asks for what operators see of a delivery. */
export interface Question {
  readonly show: string;
}
/** Sets the clock of the process, in ms since 1970, where `bl-111.clock.cjs` was preloaded. */
export interface ClockSetting {
  readonly clock: number;
}
/** What the parent is told. */
export interface Told {
  /** JSON, as the API and the command line give it. */
  readonly shown?: string;
  readonly offset?: number;
  /** What the clock says now: local time, and ms since 1970. */
  readonly local?: { readonly hour: number; readonly now: number };
  readonly recorded?: string;
  readonly sending?: { readonly name: string; readonly createdAt: number; readonly deadline: number | null };
}
const tell = (told: Told): void => void process.send!(told);

async function goOn(): Promise<void> {
  let message: unknown;
  do [message] = (await once(process, 'message')) as [unknown];
  while (message !== 'go on');
}

class Clock implements ChannelHandler<ClockPayload> {
  deliveries(): [] {
    return [];
  }
  async send({ payload, createdAt, deadline }: Delivery<ClockPayload>): Promise<Outcome> {
    tell({
      sending: { name: payload.name, createdAt: createdAt.getTime(), deadline: deadline?.getTime() ?? null },
    });
    if (payload.hold) await goOn();
    return payload.retryAt === undefined
      ? succeeded()
      : retry(503, { retryAfter: new Date(payload.retryAt).toUTCString() });
  }
}
@DeliveryChannel({ name: 'west', maxAge: '1d' })
class West extends Clock {}
@DeliveryChannel({ name: 'east', maxAge: '1d' })
class East extends Clock {}

async function main(url: string, runs: string, lease: number): Promise<void> {
  const app = await startDeliveriesApp(url, [West, East], { run: [runs], sendTimeout: lease - 5_000, lease });
  process.on('message', (order: Order | Question | ClockSetting | 'go on') => {
    if (order === 'go on') return;
    if ('clock' in order) {
      (globalThis as unknown as { setClock(ms: number): void }).setClock(order.clock);
      tell({ local: { hour: new Date().getHours(), now: Date.now() } });
      return;
    }
    if ('show' in order) {
      void app.operations.show(order.show).then((shown) => tell({ shown: JSON.stringify(shown) }));
      return;
    }
    const { payload, notBefore, deadline } = order;
    const draft = {
      destination: 'the other one',
      payload,
      ...(notBefore === undefined ? {} : { notBefore: new Date(notBefore) }),
      ...(deadline === undefined ? {} : { deadline: new Date(deadline) }),
    };
    // Each records what the other sends.
    void app.recorder
      .transaction((tx) => app.recorder.enqueue(tx, runs === 'west' ? East : West, draft))
      .then(({ id }) => tell({ recorded: id }));
  });
  process.once('SIGTERM', () => void app.close().then(() => process.exit(0)));
  tell({ offset: new Date(Date.UTC(2026, 0)).getTimezoneOffset() });
}

void main(process.argv[2]!, process.argv[3]!, Number(process.argv[4]));
