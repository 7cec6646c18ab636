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
  // Two tries of 1.5 s fit into the 5 s that an attempt has for connecting.
  const client = new DnsClient({ timeout: 1500, tries: 2 });
  if (servers) {
    client.setServers(servers);
  }
  return async (hostname) => {
    const questions = [client.resolve4(hostname), client.resolve6(hostname)];
    const [ipv4, ipv6] = await Promise.all(questions.map((question, index) => settle(question, questions[1 - index])));
    const addresses = alternate(ipv4?.addresses ?? [], ipv6?.addresses ?? []);
    if (addresses.length === 0) {
      throw ipv4?.error ?? ipv6?.error;
    }
    return addresses;
  };
}

interface Answer {
  addresses: string[];
  error?: unknown;
}

/**
 * A name server that drops AAAA questions must not cost every attempt the whole time-out, so a question gives up soon
 * after the other one got addresses. What it would have answered is then not dialled either.
 */
async function settle(question: Promise<string[]>, other: Promise<string[]> | undefined): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const givenUp = new Promise<Answer>((resolve) => {
    const give = (): void => {
      timer = setTimeout(() => resolve({ addresses: [] }), GRACE);
    };
    other?.then(give, () => undefined);
  });
  try {
    return await Promise.race([
      question.then(
        (addresses): Answer => ({ addresses }),
        (error: unknown): Answer => ({ addresses: [], error }),
      ),
      givenUp,
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/** IPv4 first, then in turn: where one family is broken, every second address still works (RFC 8305 section 4). */
function alternate(ipv4: readonly string[], ipv6: readonly string[]): string[] {
  const longer = Math.max(ipv4.length, ipv6.length);
  return Array.from({ length: longer }, (_, index) => [ipv4[index], ipv6[index]])
    .flat()
    .filter((address) => address !== undefined);
}
