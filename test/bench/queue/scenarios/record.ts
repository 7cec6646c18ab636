import type { Figures } from '../../part';
import { inLanes, monotonic, percentile, type Kind } from '../contender';
import type { Setting } from './setting';

/** Transactions that insert a business row and deliveries. */
export interface Record {
  readonly kind: 'record';
  readonly clients: number;
  readonly transactions: number;
  /** In each transaction. */
  readonly deliveries: number;
  /** `own`: each client has 100 keys of its own. `one`: all share one key. */
  readonly keys?: 'own' | 'one';
}

export async function record({ contender, url }: Setting, scenario: Record): Promise<Figures> {
  const { clients, transactions, deliveries, keys } = scenario;
  const recorder = await contender.recorder!(url, clients);
  const kind = (n: number, client: number): Kind => {
    if (keys === undefined) return {};
    return { key: keys === 'one' ? 'the one' : `key ${client} ${n % 100}` };
  };
  const took: number[] = [];
  const transaction = async (n: number, client: number): Promise<void> => {
    const began = monotonic();
    const first = n * deliveries;
    await recorder.record(
      first,
      client,
      Array.from({ length: deliveries }, (_, index) => kind(first + index, client)),
    );
    took.push(monotonic() - began);
  };
  // Connections, plans and code are warm in a process that serves requests.
  await inLanes(clients, clients * Math.max(2, Math.min(20, Math.round(transactions / 100))), transaction);
  took.length = 0;
  const began = performance.now();
  await inLanes(clients, transactions, transaction);
  const seconds = (performance.now() - began) / 1_000;
  await recorder.close();
  return {
    rate: transactions / seconds,
    deliveries: (transactions * deliveries) / seconds,
    p50: percentile(took, 50),
    p99: percentile(took, 99),
  };
}
