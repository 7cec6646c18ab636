/**
 * The owner of a temporary folder, written into the folder's name: a name and its folder appear in one step, so there is no
 * moment at which a sweeper sees a folder without knowing whose it is.
 */
export interface Owner {
  /** Short mark of the machine or container; a process id means nothing elsewhere. */
  host: string;
  pid: number;
  /** When the process began, in ticks since boot; tells it from a later one with the same id. 0: not known here. */
  began: number;
}

/** Name of a new folder of this owner, without the random end. */
export function runFolderPrefix(kind: string, owner: Owner): string {
  return `${kind}${owner.host}-${owner.pid}-${owner.began}-`;
}

/** The owner in a name made with `runFolderPrefix`, or undefined for any other name. */
export function runFolderOwner(kind: string, name: string): Owner | undefined {
  if (!name.startsWith(kind)) return undefined;
  const match = /^([0-9a-f]{8})-(\d+)-(\d+)-[A-Za-z0-9]{6}$/.exec(name.slice(kind.length));
  if (!match) return undefined;
  return { host: match[1] ?? '', pid: Number(match[2]), began: Number(match[3]) };
}

/**
 * Whether a temporary folder may be removed, and if not, why.
 *
 * A living owner keeps it in every state, so a start in progress is safe before there is a postmaster. A dead owner's server
 * is about to be ended by its watchdog, which needs the folder until then.
 */
export function judgeRunFolder(facts: {
  owner: Owner;
  thisHost: string;
  ownerLives: boolean;
  serverLives: boolean;
}): 'stale' | 'another host' | 'owner lives' | 'server lives' {
  if (facts.owner.host !== facts.thisHost) return 'another host';
  if (facts.ownerLives) return 'owner lives';
  return facts.serverLives ? 'server lives' : 'stale';
}
