import { readFileSync } from 'node:fs';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import {
  checkDestination,
  classifyAddress,
  OutboundHttp,
  outcomeOf,
  scriptedResolver,
  type OutboundResult,
  type Profile,
} from 'nest-deliveries/outbound-http';
import { readDestination } from '../../libs/outbound-http/src/address-policy/read-destination';
import { resolveDestination } from '../../libs/outbound-http/src/resolve/resolve-destination';
import { listenEverywhere } from './listen';

interface Case {
  input: string;
  kind: 'ip' | 'url';
  allowed: boolean;
  strict: boolean;
  why: string;
  needs_dns?: boolean;
  dns?: string[];
  dns_sequence?: string[][];
}

function isCases(value: unknown): value is { cases: Case[] } {
  return typeof value === 'object' && value !== null && 'cases' in value && Array.isArray(value.cases);
}

function readCases(): Case[] {
  const parsed: unknown = JSON.parse(readFileSync(join(__dirname, 'cases', 'ssrf.json'), 'utf8'));
  if (!isCases(parsed)) {
    throw new Error('the file of cases has another shape');
  }
  return parsed.cases;
}

const cases = readCases();
const profiles: Profile[] = ['registry', 'strict'];
const expected = (row: Case, profile: Profile): boolean => (profile === 'registry' ? row.allowed : row.strict);

describe.each(profiles)('every case, profile %s', (profile) => {
  it('has cases to check', () => {
    expect(cases.length).toBeGreaterThan(350);
  });

  it('is judged as written', async () => {
    const wrong: string[] = [];
    for (const row of cases) {
      const allowed =
        row.kind === 'ip' ? classifyAddress(row.input, { profile }).allowed : await judgeUrl(row, profile);
      if (allowed !== expected(row, profile)) {
        wrong.push(`${JSON.stringify(row.input)} (${row.why}) was ${allowed ? 'allowed' : 'refused'}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  /** Every answer that the name will give has to pass, since nobody knows which one an attempt will meet. */
  async function judgeUrl(row: Case, by: Profile): Promise<boolean> {
    const rules = { profile: by, deny: [], allow: [], testMode: false };
    const verdict = readDestination(row.input, rules);
    expect(checkDestination(row.input, { profile: by }).allowed).toBe(verdict.allowed);
    if (!verdict.allowed || !row.needs_dns) {
      return verdict.allowed;
    }
    for (const answer of row.dns_sequence ?? [row.dns ?? []]) {
      const resolver = scriptedResolver({ [verdict.destination.hostname]: answer });
      if ((await resolveDestination(verdict.destination, rules, resolver)).type !== 'resolved') {
        return false;
      }
    }
    return true;
  }
});

describe('nothing that is refused is connected to', () => {
  let canary: Server;
  let port: number;
  let accepted = 0;
  let dialled = 0;
  const onSocket = (): void => {
    dialled++;
  };

  beforeAll(async () => {
    canary = createServer((socket) => {
      accepted++;
      socket.destroy();
    });
    // Every local address of both families, so whatever a spelling is taken for would be counted.
    port = await listenEverywhere(canary);
    subscribe('net.client.socket', onSocket);
  });

  afterAll(() => {
    unsubscribe('net.client.socket', onSocket);
    canary.close();
  });

  it.each(profiles)('by profile %s, as text or through a name', async (profile) => {
    const allowedAnyway: string[] = [];
    for (const row of cases.filter((candidate) => !expected(candidate, profile))) {
      for (const url of urlsOf(row)) {
        const result = await attempt(url, row, profile);
        const quiet =
          result.type === 'refused' || (result.type === 'unreachable' && result.kind === 'dns:no-addresses');
        if (!quiet) {
          allowedAnyway.push(`${url}: ${JSON.stringify(result)}`);
        }
        expect(outcomeOf(result).type).toBe(result.type === 'refused' ? 'failed' : 'retry');
      }
    }
    expect(allowedAnyway).toEqual([]);
    // The sockets that this process tried to open, whatever the port, and those that arrived.
    expect(dialled).toBe(0);
    expect(accepted).toBe(0);
  });

  it('while the canary does count what reaches it', async () => {
    const http = new OutboundHttp({ testMode: true });
    const result = await http.post(`http://127.0.0.1:${port}/`);
    expect(result).toEqual({ type: 'unreachable', kind: 'connection-closed' });
    expect(dialled).toBe(1);
    expect(accepted).toBe(1);
    http.close();
  });

  async function attempt(url: string, row: Case, profile: Profile): Promise<OutboundResult> {
    // The last of a changing name's answers is the one that must not be reached.
    const answers = row.dns_sequence?.at(-1) ?? row.dns ?? [row.input];
    const http = new OutboundHttp({ resolver: async () => answers, profile });
    return await http.post(url, { body: 'x' });
  }

  /** The text as it is, the same with the canary's port, and for addresses both as a literal and as a name's answer. */
  function urlsOf(row: Case): string[] {
    if (row.kind === 'ip') {
      const host = row.input.includes(':') ? `[${row.input}]` : row.input;
      return [`https://${host}/`, `https://${host}:${port}/`, `https://name.example.test:${port}/`];
    }
    const withPort = row.input.replace(/^(https:\/\/(?:\[[^\]]*\]|[^/:?#@\\]+))(?=[/?#\\]|$)/i, `$1:${port}`);
    return withPort === row.input ? [row.input] : [row.input, withPort];
  }
});
