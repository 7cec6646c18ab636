import type { Type } from '@nestjs/common';
import { CommandFactory } from 'nest-commander';
import { markCommandProcess } from '../command-process';
import { endAfterOutput, exitAfterUsage, exitCodes, reportFailure } from './exit';

/** How long an application may take to come up: one that waits for its database says nothing of it. In ms. */
const startPatience = 9_000;

/**
 * Runs the command that this process was started with, and sees to its end. `DeliveriesModule` runs no worker, no clean-up
 * and no LISTEN in this process, whatever its options say.
 *
 * @param module with `DeliveriesCommandModule`, and, for all commands but `migrate`, `DeliveriesModule` and the channels. With
 *   `manualInitialization` of TypeORM only a command that needs the database asks for it.
 */
export async function runCommands(module: Type): Promise<void> {
  markCommandProcess();
  // `deliveries list | head`: who reads our output has seen enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? exitCodes.done : exitCodes.failed),
  );
  const late = setTimeout(() => {
    reportFailure(
      new Error(`The application did not come up within ${startPatience / 1_000} s. Is its database there?`),
    );
    endAfterOutput();
  }, startPatience);
  try {
    const app = await CommandFactory.createWithoutRunning(module, {
      logger: false,
      abortOnError: false,
      errorHandler: exitAfterUsage,
      serviceErrorHandler: reportFailure,
    });
    clearTimeout(late);
    await CommandFactory.runApplication(app);
    endAfterOutput();
    await app.close();
  } catch (error) {
    reportFailure(error);
    endAfterOutput();
  } finally {
    clearTimeout(late);
  }
}
