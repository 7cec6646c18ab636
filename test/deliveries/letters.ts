import {
  DeliveryChannel,
  succeeded,
  type ChannelHandler,
  type Delivery,
  type DeliveryDraft,
  type DeliveryEvent,
  type Drafts,
  type Outcome,
} from 'nest-deliveries';
import { setTimeout as delay } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import type { DeliveriesApp } from '../support/deliveries-app';
import type { TestDatabase } from '../support/test-database';

export interface Letter {
  readonly text: string;
}

export interface Addressee {
  readonly person: number;
}

type LetterDrafts = Drafts<Letter, Addressee>;

/** A channel that remembers what it was given to send, and whose fan-out a test can replace. */
@DeliveryChannel({ name: 'letters', maxAge: '1d' })
export class Letters implements ChannelHandler<Letter, Addressee> {
  readonly arrived: Delivery<Letter, Addressee>[] = [];

  /** Replace it to script what events cause. By default an event `letters_written` causes one letter for each of its texts. */
  fanOut: (event: DeliveryEvent, tx: EntityManager) => LetterDrafts | Promise<LetterDrafts> = lettersWritten;

  deliveries(event: DeliveryEvent, tx: EntityManager): LetterDrafts | Promise<LetterDrafts> {
    return this.fanOut(event, tx);
  }

  send(delivery: Delivery<Letter, Addressee>): Promise<Outcome> {
    this.arrived.push(delivery);
    return Promise.resolve(succeeded());
  }

  texts(): string[] {
    return this.arrived.map(({ payload }) => payload.text);
  }
}

export function lettersWritten({ type, payload }: DeliveryEvent): DeliveryDraft<Letter, Addressee>[] {
  return type === 'letters_written' ? (payload as string[]).map(letter) : [];
}

export const letter = (text: string): DeliveryDraft<Letter, Addressee> => ({
  destination: 'a person',
  payload: { text },
});

/** Waits, for at most 20 seconds, until something is so: far more than it takes, since only a test that fails waits for so long. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 20_000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`Waited 20 seconds in vain: ${what}`);
    await delay(5);
  }
}

let probes = 0;

/**
 * Commits a letter and waits until it has arrived. The claim that took it took what was due longest, so nothing that the
 * application recorded before was visible and due to that claim and did not arrive.
 */
export async function claimHasRun(app: DeliveriesApp): Promise<void> {
  const letters = app.module.get(Letters);
  const text = `probe ${(probes += 1)}`;
  const probe = await app.recorder.transaction((tx) => app.recorder.enqueue(tx, Letters, letter(text)));
  app.workers.wake();
  await until('the probe arrives', () => letters.arrived.some(({ id }) => id === probe.id));
}

/** True of what the tests' own {@link claimHasRun} sent. */
export const isProbe = ({ payload }: Delivery<Letter, Addressee>): boolean => payload.text.startsWith('probe ');

/** The texts of the letters in the table, in the order of their ids, as seen from another connection. */
export async function storedTexts(database: TestDatabase): Promise<string[]> {
  const rows = await database.query<{ text: string }>(
    `SELECT payload->>'text' AS text FROM deliveries.deliveries WHERE payload->>'text' NOT LIKE 'probe %' ORDER BY id`,
  );
  return rows.map(({ text }) => text);
}

/** Something that one party waits for and another lets happen. */
export function gate(): { readonly passed: Promise<void>; open(): void } {
  let open!: () => void;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}

export async function backendPid(tx: EntityManager): Promise<number> {
  const [row] = await tx.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
  return row!.pid;
}

/** Waits until the backend waits for a lock that another transaction holds. */
export function untilBlocked(database: TestDatabase, pid: number): Promise<void> {
  return until(`backend ${pid} waits for a lock`, async () => {
    const rows = await database.query('SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = $2', [
      pid,
      'Lock',
    ]);
    return rows.length === 1;
  });
}
