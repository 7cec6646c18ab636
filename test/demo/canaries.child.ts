import 'reflect-metadata';
import { Logger, type INestApplication, type LogLevel } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { inspect } from 'node:util';
import { openContent, type EndpointRow } from '../../libs/webhooks/src/endpoint/endpoint-row';
import { openMessage } from '../../libs/webhooks/src/seal/sealed-message';
import { create } from '../../src/demo/api';
import { Stage } from '../../src/demo/stage';
import { Story } from '../../src/demo/story';
import { WebhookActs } from '../../src/demo/webhook-acts';
import type { WebhookReceiver } from '../../src/demo/webhook-receiver';
import { webhookSecrets } from '../../src/webhooks/webhook-secrets';
import { rowsOf } from '../accounts/support/canaries';
import { foundIn, type Canaries } from '../webhooks/support/canaries';

/** What was found where, and how much was looked at. */
export interface Findings {
  /** Names of canaries: nothing is to be found there. */
  readonly tables: readonly string[];
  readonly log: readonly string[];
  readonly replicas: readonly string[];
  readonly metrics: readonly string[];
  readonly objects: readonly string[];
  /** What receivers got: there they are. */
  readonly arrivals: readonly string[];
  readonly looked: {
    readonly canaries: number;
    readonly rows: number;
    readonly objects: number;
    readonly lines: number;
  };
}

const levels: LogLevel[] = ['verbose', 'debug', 'log', 'warn', 'error', 'fatal'];

/** Plays the demonstration, or its act about webhooks alone, and looks for what its webhooks keep secret. */
async function main(whole: boolean): Promise<Findings> {
  let log = '';
  for (const stream of [process.stdout, process.stderr]) {
    stream.write = (chunk: unknown) => {
      log += String(chunk);
      return true;
    };
  }
  const stage = await Stage.set(levels);
  const applications: INestApplication[] = [];
  const startA = stage.startA.bind(stage);
  stage.startA = async () => {
    const url = await startA();
    Logger.overrideLogger(levels);
    applications.push(stage['inProcess']!.nest);
    return url;
  };
  try {
    const metrics = await play(stage, whole);
    const { canaries, wire } = await canariesOf(stage);
    const rows = await rowsOf({ query: (sql, given = []) => stage['query'](sql, given) }, ['deliveries', 'public']);
    const objects = applications.flatMap(instancesIn).flatMap((each) => [
      inspect(each, { depth: 4, showHidden: true }),
      // Past what they say of themselves, down to their fields.
      inspect(each, { depth: 4, customInspect: false }),
    ]);
    const everything = { ...canaries, ...wire };
    return {
      tables: foundIn(rows.map(({ row }) => row).join('\n'), everything),
      log: foundIn(log, everything),
      replicas: foundIn(stage.output, everything),
      metrics: foundIn(metrics, everything),
      objects: [...new Set(objects.flatMap((text) => foundIn(text, everything)))],
      arrivals: foundIn(arrivalsOf(stage).join('\n'), everything).toSorted(),
      looked: {
        canaries: Object.keys(everything).length,
        rows: rows.length,
        objects: objects.length,
        lines: log.split('\n').length,
      },
    };
  } finally {
    await stage.clear();
  }
}

/** @returns the metrics at the end of the act about webhooks */
async function play(stage: Stage, whole: boolean): Promise<string> {
  const silent = (): void => undefined;
  const metrics = async (): Promise<string> => (await fetch(`${stage.addressOfA}/metrics`)).text();
  let last = '';
  if (!whole) {
    await stage.startA();
    await new WebhookActs(stage, silent, (handle) => create(`${stage.addressOfA}/accounts`, { handle })).tell();
    return metrics();
  }
  const stopA = stage.stopA.bind(stage);
  stage.stopA = async () => {
    if (stage['inProcess']) last = await metrics();
    await stopA();
  };
  await new Story(stage, silent).tell();
  return last;
}

/** What the application keeps: its keys, and what is sealed in its tables. `wire`: signatures, as they were sent. */
async function canariesOf(stage: Stage): Promise<{ canaries: Canaries; wire: Canaries }> {
  const { keyring, inboxSecret } = webhookSecrets(stage['secrets']);
  const canaries: Record<string, string | Uint8Array> = {
    'storage key': keyring.primary.bytes(),
    'inbox secret': Buffer.from(inboxSecret.slice('whsec_'.length), 'base64'),
  };
  const endpoints = await stage['query']<EndpointRow>('SELECT * FROM deliveries.webhook_endpoints', []);
  for (const [at, row] of endpoints.entries()) {
    const { url, secrets } = openContent(keyring, row);
    canaries[`url ${at}`] = url;
    for (const [n, { shared, seed }] of secrets.entries()) {
      canaries[`secret ${at}.${n}`] = Buffer.from(shared, 'base64');
      canaries[`seed ${at}.${n}`] = Buffer.from(seed, 'base64');
    }
  }
  const messages = await stage['query']<{ id: string; payload: unknown }>(
    `SELECT id, payload FROM deliveries.deliveries WHERE channel = 'webhooks'`,
    [],
  );
  for (const { id, payload } of messages) {
    canaries[`message ${id}`] = openMessage(keyring, 'webhooks', id, payload).body;
  }
  const wire: Record<string, string | Uint8Array> = {};
  for (const [at, { headers }] of receiversOf(stage)
    .flatMap(({ arrivals }) => arrivals)
    .entries()) {
    const value = headers['webhook-signature'] ?? headers['rullst-webhook-signature'] ?? '';
    for (const [n, entry] of value.split(' ').entries()) {
      wire[`signature ${at}.${n}`] = Buffer.from(entry.slice(3), 'base64');
    }
  }
  return { canaries, wire };
}

const receiversOf = (stage: Stage): WebhookReceiver[] =>
  stage['receivers'].filter((each): each is WebhookReceiver => 'trust' in each);

const arrivalsOf = (stage: Stage): string[] =>
  receiversOf(stage).flatMap(({ arrivals }) =>
    arrivals.flatMap(({ headers, body }) => [JSON.stringify(headers), body.toString()]),
  );

/** Whatever Nest made. */
const instancesIn = (nest: INestApplication): unknown[] =>
  [...nest.get(ModulesContainer).values()].flatMap(({ providers, controllers }) =>
    [...providers.values(), ...controllers.values()].map(({ instance }) => instance),
  );

const say = process.stdout.write.bind(process.stdout);

main(process.argv[2] === 'whole').then(
  (findings) => say(JSON.stringify(findings), () => process.exit(0)),
  (error: unknown) =>
    say(error instanceof Error ? (error.stack ?? error.message) : String(error), () => process.exit(1)),
);
