// The application of BL-091 where nothing that is optional was installed: starts, sends one delivery, and then asks for the
// metrics that cannot be had.
import 'reflect-metadata';
import './bl-091.without-optional';
import { DeliveriesHealthIndicator } from 'nest-deliveries';
import { Letters, letter, until } from '../deliveries/letters';
import { startDeliveriesApp } from '../support/deliveries-app';

async function main(url: string): Promise<void> {
  const app = await startDeliveriesApp(url, [Letters], { metrics: undefined });
  await app.recorder.transaction((tx) => app.recorder.enqueue(tx, Letters, letter('sent without metrics')));
  await until('it is counted all the same', () => app.tally.of('letters').succeeded === 1);
  const health = app.module.get(DeliveriesHealthIndicator);
  let readiness = '';
  // It listens only some time after it works.
  await until('it is ready', async () => (readiness = (await health.readiness()).deliveries.status) === 'up');
  await app.close();
  const refused: unknown = await startDeliveriesApp(url, [Letters], { metrics: {} }).catch((error: unknown) => error);
  const told = JSON.stringify({ readiness, refused: String(refused) });
  // The start that was refused had opened the host's connections.
  process.stdout.write(told, () => process.exit(0));
}

void main(process.argv[2]!);
