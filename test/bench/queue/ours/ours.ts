import { DeliveryChannel, DeliveryRecorder, succeeded, type Outcome } from 'nest-deliveries';
import { writeBusinessRow } from '../business';
import { monotonic, payload, type Contender, type Kind } from '../contender';
import { BenchChannel, sendThrough, startApplication, type ApplicationOptions, type BenchDraft } from './application';
import { settings } from './settings';
import { besides } from './besides';
import { fanOutByList, fanOutByQuery } from './fan-out';

const onlyRecords = { workers: 0 };

const draft = (n: number, { key, lane, seq = n }: Kind): BenchDraft => ({
  destination: `destination ${n % 50}`,
  payload: payload(seq),
  ...(key === undefined ? {} : { orderingKey: key }),
  ...(lane === undefined ? {} : { lane }),
});

const workWith =
  (application: ApplicationOptions): Contender['work'] =>
  async (url, { concurrency, batch }, handle) => {
    sendThrough(handle);
    const options = { workers: 1, concurrency: concurrency ?? batch ?? settings.slots };
    const app = await startApplication(url, options, application);
    return { stop: () => app.close() };
  };

export const ours: Contender = {
  async setUp(url) {
    const app = await startApplication(url, onlyRecords);
    await app.close();
  },

  async lists(url) {
    const app = await startApplication(url, onlyRecords);
    const recorder = app.get(DeliveryRecorder);
    return {
      record: (kinds) => {
        const drafts = kinds.map((kind) => draft(kind.n, kind));
        return recorder.transaction((tx) => recorder.enqueue(tx, BenchChannel, drafts));
      },
      close: () => app.close(),
    };
  },

  work: workWith({}),

  async isDrained(query) {
    // Each branch by an index: a look at the whole table would be measured with the drain.
    const pending = `SELECT 1 FROM deliveries.deliveries WHERE channel = 'bench' AND status = 'pending' AND ordering_key IS NULL`;
    const rows = await query(
      `${pending} AND lane = '' AND due_at < now() + interval '2 min'
        UNION ALL
       ${pending} AND lane <> '' AND due_at < now() + interval '2 min'
        UNION ALL
       SELECT 1 FROM deliveries.deliveries d
        WHERE channel = 'bench' AND ordering_key LIKE 'key-%' AND ordering_key IS NOT NULL AND (status IN ('pending', 'failed') OR lease_expires_at IS NOT NULL)
        LIMIT 1`,
    );
    return rows.length === 0;
  },

  besides,

  async recorder(url, clients) {
    const app = await startApplication(url, onlyRecords, { poolSize: clients });
    const recorder = app.get(DeliveryRecorder);
    return {
      record: (n, _client, deliveries = [{}]) =>
        recorder.transaction(async (tx) => {
          await writeBusinessRow(tx, n);
          const [first, ...more] = deliveries.map((kind, index) => draft(n + index, kind));
          if (more.length > 0) await recorder.enqueue(tx, BenchChannel, [first!, ...more]);
          else await recorder.enqueue(tx, BenchChannel, first!);
          return monotonic();
        }),
      close: () => app.close(),
    };
  },

  fanOut: fanOutByQuery,

  async idle(url, queues) {
    const app = await startApplication(url, {}, { channels: Array.from({ length: queues }, (_, n) => idleChannel(n)) });
    return { stop: () => app.close() };
  },
};

/** With a list of drafts in the place of a query. */
export const oursByList: Contender = { ...ours, fanOut: fanOutByList };

/** With a line in the log for each attempt, those that succeeded too. */
export const oursLogging: Contender = { ...ours, work: workWith({ logSuccesses: true }) };

function idleChannel(n: number): typeof BenchChannel {
  @DeliveryChannel({ name: `idle_${n}`, maxAge: '7d' })
  class IdleChannel extends BenchChannel {
    override async send(): Promise<Outcome> {
      return succeeded();
    }
  }
  return IdleChannel;
}
