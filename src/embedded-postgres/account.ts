/** An operating-system account to run PostgreSQL as. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
}

/** Tried in this order; a machine has at least one of them. Accounts are never created. */
const UNPRIVILEGED = ['postgres', '_postgres', 'nobody', 'daemon'];

/** Accounts of a file in the format of /etc/passwd (`name:password:uid:gid:…`); lines of another shape are left out. */
export function parsePasswd(text: string): Account[] {
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    if (!name || !/^-?\d+$/.test(uid ?? '') || !/^-?\d+$/.test(gid ?? '')) return [];
    return [{ name, uid: Number(uid), gid: Number(gid) }];
  });
}

/**
 * The account that a process of root drops to, since PostgreSQL refuses to run as root.
 *
 * @param owner uid of existing data: data made by an ordinary user stays that user's, also when root starts it later
 */
export function chooseAccount(accounts: readonly Account[], owner?: number): Account | undefined {
  const candidates = accounts.filter((account) => account.uid !== 0);
  if (owner !== undefined && owner !== 0) return candidates.find((account) => account.uid === owner);
  return UNPRIVILEGED.flatMap((name) => candidates.filter((account) => account.name === name))[0];
}
