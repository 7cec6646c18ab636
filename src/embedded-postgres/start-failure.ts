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
  // "is empty": the other one has made the file a moment ago and not yet written it.
  if (/lock file "postmaster\.pid" (already exists|is empty)/.test(log)) return { kind: 'folder-in-use' };
  // A shell says so of a program that is there when the loader that it names is not.
  if (exitCode === 127 && /: not found\s*$/.test(log)) {
    return { kind: 'other', message: 'its binaries need glibc, which this system does not have' };
  }
  if (exitCode === 126) {
    const message = 'its binaries may not be executed where they lie, as on a noexec mount (TMPDIR moves their copy)';
    return { kind: 'other', message };
  }
  const said = log
    .split('\n')
    .filter((line) => /(FATAL|PANIC|DETAIL|error|cannot|could not|denied|not found)/.test(line))
    .map((line) => line.replace(/^[-0-9: .]+[A-Z]+ \[\d+\] /, '').trim());
  const message = said.length > 0 ? said.slice(-2).join(' ') : `it ended with code ${exitCode ?? 'unknown'}`;
  return { kind: 'other', message: message.replace(/\.$/, '') };
}
