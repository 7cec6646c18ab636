import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../../src/embedded-postgres';
import { setTimeout as sleep } from 'node:timers/promises';
import { OTHERS, type Figures } from '../part';
import { postmasterOf, watchOthers } from './cpu';
import { Databases } from './databases';
import { installPeers, type Peers } from './peers';
import type { Preparation } from './preparation';
import type { Scenario } from './scenarios/scenario';

/** What one contender does in one run. */
export interface Order {
  readonly contender: string;
  readonly scenario: Scenario;
  readonly prepare?: Preparation;
}

/** How long a run waits at most for others to leave the machine alone, in ms. */
const patience = 2_000;
/** How long the machine is looked at before a run, in ms. */
const glance = 200;
/** Cores that others may keep busy while something is measured. */
const quietCores = 0.3;

/** As in production: durable, and with memory for the working set. */
const settings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  max_connections: '200',
};

/** What the queue's parts run on: a PostgreSQL, and a process of its own for whatever a contender does. */
export class Stage {
  private constructor(
    private readonly peers: Peers,
    private readonly databases: Databases,
    private readonly endServer: () => Promise<void>,
    private readonly log: number,
    private readonly postmaster: number | undefined,
    /** Version and settings of the server. */
    readonly server: Readonly<Record<string, string>>,
  ) {}

  /** @param logFile where the contenders' own output goes */
  static async open(logFile: string): Promise<Stage> {
    const peers = installPeers();
    const given = process.env.BENCH_DATABASE_URL;
    const own = given === undefined ? await startEmbeddedPostgres({ settings }) : undefined;
    const url = own?.url ?? given!;
    mkdirSync(join(logFile, '..'), { recursive: true });
    const log = openSync(logFile, 'w');
    const stop = async (): Promise<void> => own?.stop();
    const { postmaster, described } = await describe(url);
    return new Stage(peers, new Databases(url), stop, log, postmaster, described);
  }

  /** Of the server, for parts that make databases of their own. */
  get url(): string {
    return this.databases.adminUrl;
  }

  get contenders(): Readonly<Record<string, string>> {
    return this.peers.versions;
  }

  async measure({ contender, scenario, prepare = {} }: Order): Promise<Figures> {
    const url = await this.databases.copyOf(JSON.stringify([contender, prepare]), async (template) => {
      await this.child('prepare', contender, template, prepare);
    });
    await this.untilQuiet();
    const others = watchOthers(this.postmaster);
    const figures = await this.child('measure', contender, url, scenario);
    if (!figures) throw new Error(`${contender} answered nothing to ${JSON.stringify(scenario)}`);
    return { ...figures, [OTHERS]: others() };
  }

  async close(): Promise<void> {
    await this.databases.dropAll();
    await this.endServer();
    closeSync(this.log);
  }

  /** Others may have a moment of work; who works all the time is not waited for, but told of. */
  private async untilQuiet(): Promise<void> {
    for (let waited = 0; waited < patience; waited += glance) {
      const others = watchOthers(this.postmaster);
      await sleep(glance);
      if (!(others() > quietCores)) return;
    }
  }

  private async child(role: string, contender: string, url: string, order: object): Promise<Figures | undefined> {
    const args = [join(__dirname, 'child.js'), role, contender, url, JSON.stringify(order)];
    const child = spawn(this.peers.node, args, { stdio: ['ignore', this.log, 'inherit', 'ipc'] });
    let answer: Figures | undefined;
    child.on('message', (message) => (answer = message as Figures));
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    if (code !== 0) throw new Error(`${contender} did not ${role} ${JSON.stringify(order)}`);
    return answer;
  }
}

async function describe(url: string) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const names = ['server_version', ...Object.keys(settings)];
    const { rows } = await client.query<{ name: string; value: string }>(
      'SELECT name, current_setting(name) AS value FROM unnest($1::text[]) AS name',
      [names],
    );
    return {
      described: Object.fromEntries(rows.map(({ name, value }) => [name, value])),
      postmaster: await postmasterOf(async (text, values) => (await client.query(text, values)).rows),
    };
  } finally {
    await client.end();
  }
}
