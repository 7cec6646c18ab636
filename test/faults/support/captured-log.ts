import { Logger, type LoggerService } from '@nestjs/common';

/**
 * Collects what Nest's loggers say from now on, in the place of printing it. To be called after an application was started,
 * since a testing module sets a logger of its own.
 */
export function captureLog(): string[] {
  const lines: string[] = [];
  const write = (message: unknown): void => void lines.push(String(message));
  const collecting: LoggerService = { log: write, warn: write, error: write };
  Logger.overrideLogger(collecting);
  return lines;
}
