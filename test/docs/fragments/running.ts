import type { INestApplication } from '@nestjs/common';

export function stopInOrder(app: INestApplication): void {
  app.enableShutdownHooks(undefined, { useProcessExit: true });
}
