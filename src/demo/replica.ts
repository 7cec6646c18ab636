import 'reflect-metadata';
import type { LogLevel } from '@nestjs/common';
import { AttemptTally } from 'nest-deliveries';
import { startApplication, type Application } from '../application';
import type { Configuration } from '../configuration';
import { endInOrder } from '../end-in-order';

/** What a replica tells the demonstration: its address once it is up, and how many leases it has lost when asked. */
export type ReplicaMessage = { readonly url: string } | { readonly leaseLost: number };

/** One more replica of the application, in a process of its own, that the demonstration can kill and freeze. */
async function main(): Promise<void> {
  const configuration = JSON.parse(process.env.DEMO_CONFIGURATION ?? '{}') as Configuration;
  const logLevels = JSON.parse(process.env.DEMO_LOG_LEVELS ?? '["error","fatal"]') as LogLevel[];
  let application: Application | undefined;
  const tell = (message: ReplicaMessage): void => void process.send?.(message);
  process.on('message', () =>
    tell({ leaseLost: application!.nest.get(AttemptTally).of('partner_notification').lease_lost }),
  );
  process.on('disconnect', () => process.exit(1));
  await endInOrder({
    start: async () => {
      application = await startApplication(configuration, 0, logLevels);
      tell({ url: application.url });
    },
    stop: async () => application?.close(),
  });
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
