import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as deliveries from 'nest-deliveries';
import * as backchannelLogout from 'nest-deliveries/backchannel-logout';
import * as email from 'nest-deliveries/email';
import * as migrations from 'nest-deliveries/migrations';
import * as outboundHttp from 'nest-deliveries/outbound-http';
import * as testing from 'nest-deliveries/testing';
import * as webhooks from 'nest-deliveries/webhooks';

const root = resolve(__dirname, '../..');

const doors: Record<string, object> = {
  'nest-deliveries': deliveries,
  'nest-deliveries/email': email,
  'nest-deliveries/webhooks': webhooks,
  'nest-deliveries/outbound-http': outboundHttp,
  'nest-deliveries/backchannel-logout': backchannelLogout,
  'nest-deliveries/testing': testing,
  'nest-deliveries/migrations': migrations,
};

/** Bases, which nobody throws. */
const bases = ['DeliveriesError', 'WebhookError'];

/** They never leave the library: what reaches a caller, or a row, is named otherwise. */
const internal = ['HookFailedError', 'SettingsLostError', 'UncheckedRemoteError'];

/** Where a plain error is made all the same. */
const uncaught: Record<string, string> = {
  'libs/deliveries/src/commands/run-commands.ts': 'a line on standard error',
  'libs/outbound-http/src/request/connection.ts': 'becomes a result',
  'libs/outbound-http/src/testing/scripted-resolver.ts': 'becomes a result',
  'libs/testing/src/contract/contract-stage.ts': 'ends a wait',
};

type Coded = Error & { readonly code: string };

const { DeliveryStateError, InvalidDraftError, InvalidRequestError } = deliveries;

const requestCodes: Record<outboundHttp.InvalidRequestCode, true> = {
  INVALID_METHOD: true,
  INVALID_BODY: true,
  INVALID_HEADER: true,
  FORBIDDEN_HEADER: true,
  INVALID_TIMEOUT: true,
  INVALID_PROFILE: true,
};

const words = 'words of its own';

/** One of each class, as the library makes them. */
const made: Record<string, Coded[]> = {
  'nest-deliveries': [
    new deliveries.DeliveriesOptionsError(words),
    new deliveries.ChannelDefinitionError(words),
    new deliveries.SchemaBehindError(words),
    new deliveries.TransactionRequiredError(words),
    new InvalidDraftError('payload.price', 'must be a number', 'Channel "letter"'),
    new deliveries.DedupeConflictError('letter', 'key', 'id'),
    new deliveries.DedupeUnsettledError('letter', 3),
    new deliveries.UnknownChannelError(words),
    new deliveries.DeliveryNotFoundError('id', false),
    new DeliveryStateError('id', 'retry', 'pending', false, 'It waits for an attempt.'),
    new InvalidRequestError('limit', 'must be a number'),
    new deliveries.RequestTimeoutError(3_000),
    new deliveries.DatabaseUnreachableError(words),
    new deliveries.OrderedPurgeError('letter', 2),
    new deliveries.AttemptAbortedError('timeout'),
  ],
  'nest-deliveries/email': [
    new email.EmailOptionsError(words),
    new email.EmailKindError(words),
    new email.EmailTemplateError(words),
    new email.InvalidEmailError('to', 'must be an address'),
  ],
  'nest-deliveries/webhooks': [
    new webhooks.WebhookInputError('signing key', '32 bytes'),
    new webhooks.WebhookConfigurationError(words),
    new webhooks.WebhookClockError(),
    new webhooks.WebhookSignatureError(),
    new webhooks.WebhookConflictError('shop', 'msg_1'),
    new webhooks.WebhookCapacityError('shop', 100),
    new webhooks.WebhookBusyError('shop'),
    new webhooks.WebhookAcknowledgementError('msg_1', 204),
    new webhooks.WebhookClaimLostError('msg_1'),
    new webhooks.WebhookNotFoundError('message msg_1'),
    new webhooks.WebhookStateError(words),
    new webhooks.WebhookClosedError('shop'),
    new webhooks.SealBrokenError('unknown_key'),
  ],
  'nest-deliveries/outbound-http': [
    new outboundHttp.InvalidOptionsError(words),
    ...(Object.keys(requestCodes) as outboundHttp.InvalidRequestCode[]).map(
      (code) => new outboundHttp.InvalidRequestError(code, words),
    ),
  ],
  'nest-deliveries/backchannel-logout': [
    new backchannelLogout.BackchannelLogoutOptionsError(words),
    new backchannelLogout.SigningKeyError(words),
  ],
  'nest-deliveries/testing': [
    new testing.EndlessDrainError(10_000),
    new testing.NotSettledError(['a letter'], 'Drain again.'),
    new testing.NotReceivedError(2, 1, 100),
    new testing.ChannelContractError('delivers', words),
  ],
  'nest-deliveries/migrations': [
    new migrations.SchemaNameError(words),
    new migrations.MigrationNotRevertedError('Deliveries1', 'deliveries'),
  ],
};

interface Row {
  readonly code: string;
  readonly name: string;
  readonly message: string;
}

/** Rows of the page's tables, by the door whose heading stands above them. */
function documented(): Record<string, Row[]> {
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');
  const parts = page.split('<!-- errors:begin -->')[1]!.split('<!-- errors:end -->')[0]!.split('\n## ').slice(1);
  return Object.fromEntries(
    parts.map((part) => {
      const rows = part.split('\n').filter((line) => line.startsWith('| `'));
      const cells = rows.map((row) => row.split('|').map((cell) => cell.trim().replace(/^`(.*)`$/s, '$1')));
      return [
        /^`(.+)`/.exec(part)![1],
        cells.map(([, code, name, message]) => ({ code: code!, name: name!, message: message! })),
      ];
    }),
  );
}

const errorsOf = (door: object): string[] =>
  Object.entries(door)
    .filter(([name, value]) => typeof value === 'function' && value.prototype instanceof Error && !bases.includes(name))
    .map(([name]) => name);

test('the page lists the errors of every door, each with its code', () => {
  const listed = documented();
  expect(Object.keys(listed)).toEqual(Object.keys(doors));
  for (const [door, exported] of Object.entries(doors)) {
    expect([...new Set(listed[door]!.map(({ name }) => name))].toSorted()).toEqual(errorsOf(exported).toSorted());
    expect(listed[door]!.map(({ code, name }) => [code, name])).toEqual(
      made[door]!.map((error) => [error.code, error.constructor.name]),
    );
  }
  const codes = Object.values(listed).flatMap((rows) => rows.map(({ code }) => code));
  expect(codes.filter((code, index) => codes.indexOf(code) !== index)).toEqual([]);
});

test.each(Object.keys(doors))('errors of %s are named as their class, and say what the page says', (door) => {
  const rows = documented()[door]!;
  for (const [index, error] of made[door]!.entries()) {
    const { message } = rows[index]!;
    expect(error.name).toBe(error.constructor.name);
    const template = message === '' ? words : message;
    const pattern = template
      .split('…')
      .map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('(.+)');
    expect(error.message).toMatch(new RegExp(`^${pattern}$`, 's'));
  }
});

/** The text of every file of the libraries, by its path. */
const sources = ['libs', 'migrations'].flatMap((folder) =>
  (readdirSync(join(root, folder), { recursive: true }) as string[])
    .filter((path) => (folder === 'migrations' || path.includes('/src/')) && /(?<!\.spec)\.ts$/.test(path))
    .map((path) => ({ path: `${folder}/${path}`, text: readFileSync(join(root, folder, path), 'utf8') })),
);

const matchesOf = (pattern: RegExp): string[] =>
  sources.flatMap(({ text }) => [...text.matchAll(pattern)].map(([, found]) => found!));

test('no class of error is left out of its door, and no code of the page', () => {
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');
  const codes = matchesOf(/'((?:DELIVERIES|EMAIL|WEBHOOK|BACKCHANNEL)_[A-Z_]+)'/g);
  expect(codes.filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
  const exported = Object.values(doors).flatMap((door) => errorsOf(door));
  const declared = matchesOf(/class (\w+Error) extends/g);
  const hidden = declared.filter((name) => !exported.includes(name) && !bases.includes(name));
  expect(hidden.toSorted()).toEqual(internal);
});

test('what has no class of its own reaches nobody who could catch it', () => {
  const plain = sources.filter(({ text }) => /\bnew (Aggregate|Range|Reference|Syntax|Type)?Error\(/.test(text));
  expect(Object.fromEntries(plain.map(({ path }) => [path, uncaught[path]]))).toEqual(uncaught);
});
