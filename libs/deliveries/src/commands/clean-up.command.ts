import { Command } from 'nest-commander';
import { inWords } from '../clean-up/clean-up-report';
import { exitCodes } from './exit';
import { OperationsCommand } from './operations-command';
import { print, printJson } from './output';

/** `clean-up`: one pass over what is past its retention. */
@Command({ name: 'clean-up', description: 'Delete what is past its retention, now.' })
export class CleanUpCommand extends OperationsCommand {
  protected describe(): void {
    // Nothing to choose.
  }

  protected async perform(_given: string[], options: Record<string, unknown>): Promise<void> {
    const cleaner = await this.cleaner();
    // As long as it takes: each of its statements has a time limit of its own.
    const report = await cleaner.runOnce();
    if (options.json) printJson(report);
    else print(`${inWords(report) || 'nothing to delete'}\n`);
    if (report.complete) return;
    process.stderr.write('deliveries: another process is cleaning up: what it leaves is for the next pass.\n');
    process.exitCode = exitCodes.failed;
  }
}
