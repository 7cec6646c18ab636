import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Configuration } from '../../../src/configuration';
import type { ReplicaMessage } from '../../../src/demo/replica';
import { until } from '../../faults/support/facts';
import { spawnTs } from '../../support/ts-child';

/** The application in a process of its own, to be killed. */
export class Replica {
  private readonly child: ChildProcess;
  private readonly ended: Promise<unknown>;
  private address: string | undefined;

  constructor(configuration: Configuration) {
    this.child = spawnTs('src/demo/replica.ts', {
      env: { DEMO_CONFIGURATION: JSON.stringify(configuration) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.ended = once(this.child, 'exit');
    this.child.on('message', (message: ReplicaMessage) => {
      if ('url' in message) this.address = message.url;
    });
  }

  /** @returns its address, once it is up */
  url(): Promise<string> {
    return until('the replica is up', () => this.address, 20_000);
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}
