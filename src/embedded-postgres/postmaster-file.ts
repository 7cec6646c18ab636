/** What a server writes about itself into `postmaster.pid` of its data folder. */
export interface PostmasterFile {
  pid: number;
  /** Absent in the first moments of a start. */
  port?: number;
  /** Absent in the first moments of a start. */
  status?: 'starting' | 'stopping' | 'ready' | 'standby';
}

const STATUSES = ['starting', 'stopping', 'ready', 'standby'] as const;

/**
 * Reads `postmaster.pid`: line 1 the process, line 4 the port, line 8 the state, padded with blanks.
 *
 * @returns undefined when the first line is no process id, which is so while the file is being written
 */
export function parsePostmasterFile(text: string): PostmasterFile | undefined {
  const lines = text.split('\n').map((line) => line.trim());
  const pid = Number(lines[0]);
  // A stand-alone backend writes its pid negated.
  if (!Number.isInteger(pid) || pid === 0) return undefined;
  const port = Number(lines[3]);
  const status = STATUSES.find((known) => known === lines[7]);
  return { pid: Math.abs(pid), ...(port > 0 ? { port } : {}), ...(status ? { status } : {}) };
}
