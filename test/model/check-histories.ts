import fc from 'fast-check';
import { type Command, historyArbitrary } from './commands';
import { History } from './history';
import { World } from './world';

/** A history that broke a rule, with what happened in it. */
class HistoryFailed extends Error {
  constructor(
    readonly log: readonly string[],
    override readonly cause: unknown,
  ) {
    super((cause as Error).message);
  }
}

/**
 * Plays random histories on as many databases at once as there are lanes, in each one after another, each on empty tables.
 * @returns how many were played
 * @throws an error with the shortest history that was found to fail, in words, and how to play it again
 */
export async function checkHistories(numRuns: number, lanes: number): Promise<number> {
  const { MODEL_SEED, MODEL_PATH, MODEL_RUNS } = process.env;
  const runs = MODEL_RUNS === undefined ? numRuns : Number(MODEL_RUNS);
  const again = {
    ...(MODEL_SEED === undefined ? {} : { seed: Number(MODEL_SEED) }),
    ...(MODEL_PATH === undefined ? {} : { path: MODEL_PATH, endOnFailure: true }),
  };
  const count = MODEL_SEED === undefined ? lanes : 1;
  let failed = false;
  const lane = async (): Promise<number> => {
    try {
      return await checkInOneLane({ numRuns: Math.ceil(runs / count), ...again }, () => failed);
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: count }, lane));
  return ended.reduce((sum, each) => {
    if (each.status === 'rejected') throw each.reason;
    return sum + each.value;
  }, 0);
}

/** @param isOver nothing more need be found */
async function checkInOneLane(parameters: fc.Parameters<[Command[]]>, isOver: () => boolean): Promise<number> {
  let world: World | undefined;
  const play = async (commands: Command[]): Promise<void> => {
    if (isOver()) return;
    world ??= await World.create();
    const history = new History(world);
    try {
      await world.clear();
      await history.play(commands);
    } catch (error) {
      history.abandon();
      // Statements of the failed history may hang, and its locks are held.
      await world.close();
      world = undefined;
      throw new HistoryFailed(history.log, error);
    }
  };
  const details = await fc.check(fc.asyncProperty(historyArbitrary, play), parameters);
  await world?.close();
  if (!details.failed) return details.numRuns;
  const { errorInstance, seed, counterexamplePath, numShrinks } = details;
  if (!(errorInstance instanceof HistoryFailed)) throw errorInstance ?? new Error('The check was interrupted.');
  const words = errorInstance.log.map((line) => (line.startsWith(' ') ? `      ${line}` : `    - ${line}`));
  throw new Error(
    `A history breaks a rule (shrunk ${numShrinks} times):\n${words.join('\n')}\n\n  ${errorInstance.message}\n\n` +
      `  Play it again: MODEL_SEED=${seed} MODEL_PATH=${counterexamplePath} npx jest test/model/model.spec.ts`,
    { cause: errorInstance.cause },
  );
}
