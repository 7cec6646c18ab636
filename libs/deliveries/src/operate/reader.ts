import type { DataSource, EntityManager } from 'typeorm';
import { DatabaseUnreachableError, RequestTimeoutError } from '../errors';

/** What a person would wait for, in ms. */
const readTimeout = 3_000;
/** In ms: over a line that is frozen comes no answer, and no word of a time limit either. */
const silence = 5_000;

/**
 * Every statement here has an index in whose order it reads, and stops when it has enough: reading a table from end to end, or
 * collecting a bitmap and sorting it, may look cheaper to a planner that knows little, and costs what there is. Parallel workers and compiled expressions take longer to start than these reads take.
 */
const settings = [
  `SET LOCAL statement_timeout = ${readTimeout}`,
  'SET LOCAL transaction_read_only = on',
  'SET LOCAL enable_seqscan = off',
  'SET LOCAL enable_bitmapscan = off',
  'SET LOCAL max_parallel_workers_per_gather = 0',
  'SET LOCAL jit = off',
].join('; ');

/** Runs an operator's reads on the host's connections: none changes anything, and none takes long. */
export class Reader {
  constructor(
    private readonly dataSource: DataSource,
    private readonly patience = silence,
  ) {}

  /** @throws RequestTimeoutError after three seconds, DatabaseUnreachableError after five of silence */
  async read<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const answer = this.dataSource.transaction('READ COMMITTED', async (tx) => {
      await tx.query(settings);
      return work(tx);
    });
    try {
      return await this.orSilence(answer);
    } catch (error) {
      // 57014: query_canceled
      if ((error as { code?: unknown }).code === '57014') throw new RequestTimeoutError(readTimeout, { cause: error });
      throw error;
    }
  }

  /** Rows of one statement. */
  rows<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.read((tx) => tx.query<Row[]>(text, values));
  }

  /** The connection stays with its statement: whoever asks next takes another, or waits for one as long as for an answer. */
  private async orSilence<T>(answer: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const silent = new Promise<never>((_, reject) => {
      const error = new DatabaseUnreachableError(
        `PostgreSQL did not answer within ${this.patience / 1_000} s. Try again when it does.`,
      );
      timer = setTimeout(() => reject(error), this.patience);
    });
    return Promise.race([answer, silent]).finally(() => clearTimeout(timer));
  }
}
