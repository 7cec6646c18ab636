import { Resolver as DnsClient } from 'node:dns/promises';
import type { Resolver } from './resolver';

/** How long the slower of the two questions is waited for once the other one has addresses, in milliseconds. */
const GRACE = 500;

/**
 * Asks the system's name servers for A and AAAA records, over TCP where an answer is too long for UDP.
 *
 * It asks them itself rather than through `getaddrinfo`, for two reasons. A name server that never answers would hold
 * one of the process's four worker threads for each attempt, and third parties choose the name server. And
 * `getaddrinfo` completes names from search domains and local files, so that a stranger's name could come to mean a
 * host in here.
 *
 * @param servers `host:port` of name servers; default: the system's.
 */
export function dnsResolver(servers?: readonly string[]): Resolver {
  return async (hostname, signal) => {
    // One for each attempt, some 30 µs: its questions can be cancelled without those of others, and leave from a port
    // of their own, which a forged answer would have to guess. Two tries of 1.5 s fit into the time for connecting.
    const client = new DnsClient({ timeout: 1500, tries: 2 });
    if (servers) {
      client.setServers(servers);
    }
    const cancel = (): void => client.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return await ask(client, hostname);
    } finally {
      signal?.removeEventListener('abort', cancel);
      cancel();
    }
  };
}

/**
 * Asks both questions at once. A name server that drops AAAA questions must not cost every attempt the whole time-out,
 * so once one of the two has addresses, the other has a moment left; what it would have answered is not dialled then.
 */
async function ask(client: DnsClient, hostname: string): Promise<string[]> {
  const found = { ipv4: new Array<string>(), ipv6: new Array<string>(), errors: new Array<unknown>() };
  const note = async (family: 'ipv4' | 'ipv6', answer: Promise<string[]>): Promise<void> => {
    try {
      found[family] = await answer;
    } catch (error) {
      found.errors.push(error);
    }
  };
  const questions = [note('ipv4', client.resolve4(hostname)), note('ipv6', client.resolve6(hostname))];
  await Promise.race(questions);
  const both = Promise.all(questions);
  await (found.ipv4.length + found.ipv6.length > 0 ? atMost(GRACE, both) : both);
  const addresses = alternate(found.ipv4, found.ipv6);
  if (addresses.length === 0) {
    throw found.errors[0];
  }
  return addresses;
}

async function atMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, over]);
  clearTimeout(timer);
}

/** IPv4 first, then in turn: where one family is broken, every second address still works (RFC 8305 section 4). */
function alternate(ipv4: readonly string[], ipv6: readonly string[]): string[] {
  const longer = Math.max(ipv4.length, ipv6.length);
  return Array.from({ length: longer }, (_, index) => [ipv4[index], ipv6[index]])
    .flat()
    .filter((address) => address !== undefined);
}
