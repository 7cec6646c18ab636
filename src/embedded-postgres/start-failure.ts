/** Why a server ended before it was ready. */
export type StartFailure = { kind: 'port-taken' } | { kind: 'folder-in-use' } | { kind: 'other'; message: string };

/**
 * Reads the reason from what this start wrote to the log. The cluster's messages are English, since its locale is C.
 *
 * @param log the log from where this start began
 * @param exitCode of the watchdog: that of postgres, or 128 + signal
 */
export function startFailure(log: string, exitCode: number | undefined): StartFailure {
  if (/Address already in use|could not create any TCP\/IP sockets/.test(log)) return { kind: 'port-taken' };
  if (/lock file "postmaster\.pid" already exists/.test(log)) return { kind: 'folder-in-use' };
  const said = log
    .split('\n')
    .filter((line) => /(FATAL|PANIC|DETAIL|error|cannot|could not|not found)/.test(line))
    .map((line) => line.replace(/^[-0-9: .]+[A-Z]+ \[\d+\] /, '').trim());
  const message = said.length > 0 ? said.slice(-2).join(' ') : `it ended with code ${exitCode ?? 'unknown'}`;
  return { kind: 'other', message: message.replace(/\.$/, '') };
}
