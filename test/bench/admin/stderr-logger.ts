import { ConsoleLogger, type LogLevel } from '@nestjs/common';

/** Of an application in the bench's own process, whose standard output is the result. */
export class StderrLogger extends ConsoleLogger {
  protected override printMessages(messages: unknown[], context?: string, level?: LogLevel): void {
    super.printMessages(messages, context, level, 'stderr');
  }
}
