import type { Duration } from 'nest-deliveries';
import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { emailAddress } from './compose/address';
import type { EmailKind } from './compose/email-kind';
import type { Sender } from './compose/message';
import { InvalidEmailError } from './errors';
import { count, duration, refused, refuseUnknown, text } from './option-rules';
import { readRelayUrl, type RelayAddress } from './relay/relay-url';

/** What `EmailModule.forRoot` takes. Durations are milliseconds or strings such as `'10s'`. */
export interface EmailOptions {
  /** `smtp://user:password@host:587` (STARTTLS) or `smtps://…:465`. Default: none, and every delivery is skipped. */
  readonly url?: string | undefined;
  /** Who messages are from: `{ name: 'Example', address: 'hello@example.com' }`. */
  readonly from: Sender;
  /** Every kind of message that is sent. */
  readonly kinds: readonly EmailKind[];
  /** Name of the `DeliveriesModule` whose channels these are. Default: the one without a name. */
  readonly deliveries?: string;
  /** Folder of the templates. Default `templates/email` in the working directory. */
  readonly templates?: string;
  /** Names of the channels that send through this relay, and are paused together while it rejects the login. Default `['email']`. */
  readonly channels?: readonly string[];
  /** Whether a session must be encrypted before anything is said in it. Default: unless the relay is on loopback; only there can it be off. */
  readonly requireTls?: boolean;
  /** Certificate (PEM) of a private authority that the relay's certificate may come from, in the place of the public ones. */
  readonly ca?: string;
  /** Connections to the relay at most, 1 to 1,000. Default 20. */
  readonly connections?: number;
  /** How long the relay may say nothing. Default `'10s'`; the deadline of the attempt counts as well. */
  readonly timeout?: Duration;
  /** How often a login is tried while the relay rejects it. Default `'20s'`. */
  readonly probeInterval?: Duration;
}

/** The options with their defaults, durations in ms. */
export interface ResolvedEmailOptions {
  readonly relay: RelayAddress | undefined;
  readonly from: Sender;
  readonly kinds: readonly EmailKind[];
  /** An absolute path. */
  readonly templates: string;
  readonly channels: readonly string[];
  readonly requireTls: boolean;
  readonly ca: string | undefined;
  readonly connections: number;
  readonly timeout: number;
  readonly probeInterval: number;
}

/** Every option of the module with its default, as the options table in the docs has it. */
export const emailOptionDefaults = {
  url: 'none: every delivery is skipped',
  from: 'required',
  kinds: 'required',
  deliveries: 'the one without a name',
  templates: "'templates/email' in the working directory",
  channels: "['email']",
  requireTls: 'on, unless the relay is on loopback',
  ca: 'the public authorities',
  connections: '20',
  timeout: "'10s'",
  probeInterval: "'20s'",
} as const satisfies Record<keyof EmailOptions, string>;

/** @throws EmailOptionsError with one sentence: option, rule, what to do */
export function resolveEmailOptions(given: EmailOptions): ResolvedEmailOptions {
  refuseUnknown('EmailModule', given, Object.keys(emailOptionDefaults), 'Write { from, kinds }');
  // An empty variable of the environment is one that is not set.
  const relay = given.url === undefined || given.url === '' ? undefined : readRelayUrl(given.url);
  return {
    relay,
    from: senderOf(given.from),
    kinds: kindsOf(given.kinds),
    templates: resolve(text('templates', given.templates ?? 'templates/email', 'the path of a folder')),
    channels: channelsOf(given.channels ?? ['email']),
    requireTls: requireTlsOf(given.requireTls, relay),
    ca: given.ca === undefined ? undefined : certificate(given.ca),
    connections: count('connections', given.connections ?? 20, 1, 1_000),
    timeout: duration('timeout', given.timeout ?? '10s', 100, 600_000),
    probeInterval: duration('probeInterval', given.probeInterval ?? '20s', 100, 3_600_000),
  };
}

/** @throws EmailOptionsError for what cannot be the name of a `DeliveriesModule` */
export function checkDeliveries(name: unknown): void {
  if (name !== undefined) text('deliveries', name, 'the name of a DeliveriesModule');
}

/** What a factory gave. @throws EmailOptionsError for what must be known before it runs, too */
export function resolveLateOptions(given: EmailOptions): ResolvedEmailOptions {
  if (given?.deliveries === undefined) return resolveEmailOptions(given);
  throw refused('deliveries', 'must be known before the factory of forRootAsync runs', 'Put it beside useFactory');
}

function senderOf(from: unknown): Sender {
  const advice = "Write from: { name: 'Example', address: 'hello@example.com' }";
  refuseUnknown('EmailModule: from', from, ['name', 'address'], advice);
  const { name, address } = from as Partial<Record<string, unknown>>;
  if (typeof name !== 'string' || name.trim() === '' || /[\p{Cc}\u2028\u2029]/u.test(name)) {
    throw refused('from.name', 'must be one line of text without control characters', advice);
  }
  try {
    return { name, address: emailAddress(address as string) };
  } catch (error) {
    if (!(error instanceof InvalidEmailError)) throw error;
    throw refused('from.address', error.rule, advice);
  }
}

function kindsOf(kinds: unknown): readonly EmailKind[] {
  const advice = 'Write kinds: [aKind, …] with what emailKind() gave';
  if (!Array.isArray(kinds)) throw refused('kinds', 'must be the list of all message kinds', advice);
  if (!kinds.every(isKind)) throw refused('kinds', 'must hold message kinds only', advice);
  const names = kinds.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return kinds;
  throw refused(
    'kinds',
    `has "${twice}" twice, and both would have the same templates`,
    'Rename or remove one of them',
  );
}

const isKind = (kind: unknown): kind is EmailKind => {
  const { name, fields } = Object(kind) as Partial<Record<string, unknown>>;
  return typeof name === 'string' && typeof fields === 'object' && fields !== null;
};

function channelsOf(channels: unknown): readonly string[] {
  if (Array.isArray(channels) && channels.length > 0 && channels.every((name) => typeof name === 'string' && name)) {
    return channels as string[];
  }
  throw refused('channels', 'must be a list of names of channels, at least one', "Write channels: ['email']");
}

function requireTlsOf(given: unknown, relay: RelayAddress | undefined): boolean {
  if (given === undefined) return !relay?.loopback;
  if (typeof given !== 'boolean') throw refused('requireTls', 'must be true or false', 'Leave it out', given);
  if (given || !relay || relay.loopback) return given;
  throw refused(
    'requireTls',
    'can be off for a relay on loopback only, since passwords and messages would cross the network in the clear',
    'Leave it out, or use a relay with TLS',
  );
}

function certificate(pem: unknown): string {
  try {
    // As PEM, whatever else could be read from what was given.
    return new X509Certificate(String(pem)).toString();
  } catch {
    throw refused('ca', 'must be a certificate in PEM', "Write ca: readFileSync('authority.pem', 'utf8')");
  }
}
