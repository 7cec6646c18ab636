import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import type { Account } from './account';

/**
 * Runs a command and ends it when our end of file descriptor 3 closes, which the kernel does however we end.
 *
 * - Every line on 3 is a signal's name for the command. The first line back is the command's process id.
 * - After the end of 3: the last signal, again and again, since a postmaster that has just begun still ignores INT and QUIT
 *   (a shell starts background commands so). After 10 s QUIT, after 15 s KILL.
 * - TERM to the watcher is how the main shell says that the command ended by itself; exit 0 of the watcher therefore means
 *   that we are gone and that the temporary folder can go too.
 *
 * Arguments: last signal, log file, folder to remove when we are gone ('' for none), the command.
 */
const SCRIPT = `
last=$1 log=$2 leftover=$3
shift 3
exec >>"$log" 2>&1
"$@" 3<&- &
command=$!
echo "$command" >&3
(
  while read -r signal; do kill -s "$signal" "$command"; done <&3
  trap '' TERM
  tick=0
  while kill -s "$last" "$command"; do
    sleep 0.1
    tick=$((tick + 1))
    if [ "$tick" -eq 100 ]; then last=QUIT; fi
    if [ "$tick" -eq 150 ]; then last=KILL; fi
  done
  exit 0
) 2>/dev/null &
watcher=$!
exec 3<&-
wait "$command"
code=$?
kill "$watcher" 2>/dev/null
if wait "$watcher" 2>/dev/null && [ -n "$leftover" ]; then rm -rf -- "$leftover"; fi
exit "$code"
`;

/** A command under the watchdog. */
export interface Guarded {
  /** Process id of the command (not of the watchdog); undefined when the watchdog could not start. */
  readonly pid: Promise<number | undefined>;
  /** Exit code of the command, 128 + n after signal n; an error when the watchdog could not be started. */
  readonly exited: Promise<{ code: number } | { error: Error }>;
  /** The same, when it has happened already. */
  ended(): { code: number } | { error: Error } | undefined;
  /** From now on neither the command nor the watchdog keeps this process alive. */
  release(): void;
  /** Sends a signal to the command; nothing happens when it has ended. */
  signal(name: 'INT' | 'QUIT' | 'TERM' | 'KILL'): void;
}

/**
 * Starts a command under the watchdog, in a session of its own: Ctrl-C in the terminal reaches us only, and we end the server
 * in our order.
 *
 * @param order.account to drop to; undefined stays who we are
 * @param order.lastSignal what the command gets when we are gone
 * @param order.log file that output is appended to, opened by the account and not by us
 * @param order.leftover folder to remove when we are gone
 */
export function guard(order: {
  command: string;
  args: readonly string[];
  account: Account | undefined;
  lastSignal: 'INT' | 'QUIT' | 'TERM';
  log: string;
  leftover?: string;
}): Guarded {
  const { command, args, account, lastSignal, log, leftover = '' } = order;
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'postgres-watchdog', lastSignal, log, leftover, command, ...args], {
    // The account need not be able to enter our working directory, and postgres asks for its own.
    cwd: '/',
    detached: true,
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: process.env.TZ },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    ...(account ? { uid: account.uid, gid: account.gid } : {}),
  });
  let end: { code: number } | { error: Error } | undefined;
  const exited = new Promise<{ code: number } | { error: Error }>((resolve) => {
    child.once('error', (error) => resolve((end ??= { error })));
    child.once('exit', (code) => resolve((end ??= { code: code ?? 137 })));
  });
  const line = child.stdio[3];
  if (!(line instanceof Socket)) throw new Error('File descriptor 3 of the watchdog is no socket.');
  line.on('error', () => {}); // EPIPE when the command ends while we write; `exited` tells the story.
  const pid = new Promise<number | undefined>((resolve) => {
    line.once('data', (chunk: Buffer) => resolve(Number(chunk.toString())));
    line.once('close', () => resolve(undefined));
  });
  return {
    pid,
    exited,
    ended: () => end,
    release: () => {
      child.unref();
      line.unref();
    },
    signal: (name) => void (end === undefined && line.write(`${name}\n`)),
  };
}
