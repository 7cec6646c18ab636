import type { LogLevel } from '@nestjs/common';
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { extname, join } from 'node:path';
import type { Configuration } from '../configuration';
import type { ReplicaMessage } from './replica';
import { until } from './until';

/** A replica in a process of its own. */
export class ReplicaProcess {
  private readonly name: string;
  private readonly child: ChildProcess;
  private guard: ChildProcess | undefined;
  private url: string | undefined;
  private lost = 0;
  /** What it said, and to whom it said that something was wrong. */
  output = '';
  private readonly ended: Promise<unknown>;

  constructor(configuration: Configuration, logLevels: readonly LogLevel[]) {
    this.name = configuration.replica;
    // As this file runs: compiled, or as it is written.
    this.child = fork(join(__dirname, `replica${extname(__filename)}`), {
      env: {
        ...process.env,
        DEMO_CONFIGURATION: JSON.stringify(configuration),
        DEMO_LOG_LEVELS: JSON.stringify(logLevels),
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.ended = once(this.child, 'exit');
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.child.on('message', (message: ReplicaMessage) => {
      if ('url' in message) this.url = message.url;
      else this.lost = message.leaseLost;
    });
  }

  async up(): Promise<void> {
    await until(`replica ${this.name} is up`, () => this.url ?? this.requireAlive());
  }

  get address(): string {
    return this.url!;
  }

  /** SIGKILL: no clean-up, no last words. Resolves when the process is gone. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  /** SIGSTOP: the process keeps everything and does nothing, like a machine that is suspended. */
  freeze(): void {
    // A frozen process does not notice that we are gone, so somebody else has to: our end of the pipe closes with us.
    this.guard = spawn('/bin/sh', ['-c', 'read -r line; kill -s KILL "$0"', String(this.child.pid)], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.child.kill('SIGSTOP');
  }

  /** SIGCONT */
  thaw(): void {
    this.child.kill('SIGCONT');
    this.guard?.kill('SIGKILL');
  }

  /** Outcomes that this replica wanted to write after somebody else had taken over the delivery. */
  async leaseLost(): Promise<number> {
    return await until(`replica ${this.name} has noticed that it lost a lease`, () => {
      this.requireAlive();
      this.child.send('lease lost?');
      return this.lost > 0 ? this.lost : undefined;
    });
  }

  /** SIGTERM: ends in order. @returns its exit code */
  async terminate(): Promise<number | null> {
    this.child.kill('SIGTERM');
    await this.ended;
    return this.child.exitCode;
  }

  private requireAlive(): undefined {
    if (this.child.exitCode === null && this.child.signalCode === null) return undefined;
    throw new Error(
      `Replica ${this.name} ended by itself (${this.child.exitCode ?? this.child.signalCode}). ${this.output}`,
    );
  }
}
