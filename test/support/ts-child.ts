import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface TsChildOptions {
  readonly args?: readonly string[];
  /** Over the environment of this process; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: output to read (it must be read: a full pipe stops the child), and a channel for `send` and `message`. */
  readonly stdio?: StdioOptions;
}

/**
 * Runs a TypeScript file under plain Node, without a build: decorators and the path aliases of tsconfig.json work, and the
 * child ends when this process does. A Nest application is up 1.2 s later.
 *
 * @param entryFile absolute, or relative to the repository's root
 */
export function spawnTs(entryFile: string, options: TsChildOptions = {}): ChildProcess {
  const { args = [], env = {}, stdio = ['ignore', 'pipe', 'pipe', 'ipc'] } = options;
  const hook = join(__dirname, 'ts-hook.cjs');
  return spawn(process.execPath, ['--enable-source-maps', '--require', hook, entryFile, ...args], {
    cwd: join(__dirname, '..', '..'),
    env: { ...process.env, ...env },
    stdio,
  });
}

/** What is left of a child that has ended. */
export interface TsChildEnd {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Collects what a child with piped output writes and resolves when it has ended and its output is complete. */
export async function endOf(child: ChildProcess): Promise<TsChildEnd> {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout, stderr };
}

/** Runs a TypeScript file to its end. */
export function runTs(entryFile: string, options: Omit<TsChildOptions, 'stdio'> = {}): Promise<TsChildEnd> {
  return endOf(spawnTs(entryFile, { ...options, stdio: ['ignore', 'pipe', 'pipe'] }));
}
