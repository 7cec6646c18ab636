import { generateKeyPairSync } from 'node:crypto';
import { ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SignJWT } from 'jose';
import { DeliveriesModule, DeliveryOperations, DeliveryRecorder } from 'nest-deliveries';
import {
  BackchannelLogoutModule,
  logoutClaims,
  sessionRevoked,
  signingAlgorithms,
  signLogoutToken,
  type BackchannelLogoutModuleOptions,
  type LoggedOutClient,
} from 'nest-deliveries/backchannel-logout';
import { OutboundHttpModule } from 'nest-deliveries/outbound-http';
import { createTestCa, type TestCa } from '../../src/demo/certificates';
import { startRelyingParty, verify, type LogoutAnswer, type RelyingParty } from '../../src/demo/relying-party';
import { until } from '../faults/support/facts';
import { testPace } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { Issuer, issuer } from './support/issuer';
import { complaints, type Expected } from './support/strict-checker';

const keys = new Issuer();
const session = { sub: 'account-1', sid: 'session-1' };
const clientIdOf = (path: string): string => path.slice('/logout/'.length);

let database: TestDatabase;
let ca: TestCa;
let party: RelyingParty;
let app: TestingModule;
let recorder: DeliveryRecorder;
/** Who is told of a session that ends now. */
let clients: LoggedOutClient[] = [];

beforeAll(async () => {
  [database, ca] = await Promise.all([createTestDatabase(), createTestCa()]);
  party = await startRelyingParty(await ca.issue({ hosts: ['127.0.0.1'] }), (path) => keys.trust(clientIdOf(path)));
  const built = Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: database.url, retryAttempts: 0 }),
      ScheduleModule.forRoot(),
      // A retry comes when a test makes it due.
      // Nor does a busy machine make a time-out of what is answered.
      DeliveriesModule.forRoot({
        ...testPace,
        sendTimeout: '10s',
        lease: '15s',
        retry: { first: '30m', max: '30m' },
        logAttempts: 'none',
      }),
      BackchannelLogoutModule.forRootAsync({
        imports: [OutboundHttpModule.forRoot({ testMode: { ca: ca.certificate } })],
        useFactory: () => ({ issuer, signingKey: keys.signingKey, clientsOf: () => clients }),
      }),
    ],
  });
  app = await (await built.compile()).init();
  recorder = app.get(DeliveryRecorder);
});

afterAll(async () => {
  await app?.close();
  party?.close();
  await database?.drop();
});

afterEach(() => {
  jest.restoreAllMocks();
  party.behave(() => undefined);
});

interface Row {
  readonly id: string;
  readonly client: string;
  readonly status: string;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly claimed: boolean;
}

const rows = (): Promise<Row[]> =>
  database.query<Row>(
    `SELECT id, recipient->>'clientId' AS client, status, attempts, last_error,
            claim_token IS NOT NULL AS claimed
       FROM deliveries.deliveries ORDER BY id`,
  );

const client = (clientId: string, logoutUri = `${party.origin}/logout/${clientId}`): LoggedOutClient => ({
  clientId,
  logoutUri,
});

/** Ends the session, of which these clients have tokens. */
async function endSession(...those: LoggedOutClient[]): Promise<void> {
  clients = those;
  await recorder.transaction((tx) => recorder.record(tx, sessionRevoked(session)));
}

const rowOf = (clientId: string, of: (row: Row) => boolean): Promise<Row> =>
  until(`a delivery to ${clientId}`, async () => (await rows()).find((row) => row.client === clientId && of(row)));

const expectedAt = (clientId: string, jti: string, now: number): Expected => ({
  issuer,
  clientId,
  jti,
  ...session,
  jwks: keys.jwks,
  now,
});

test('what a relying party answers decides; a destination inside this network gets nothing', async () => {
  const redirects = [301, 302, 303, 307, 308];
  const answers: Record<string, LogoutAnswer> = {
    ok: { status: 200 },
    'no-content': { status: 204 },
    refuses: { status: 400 },
    ...Object.fromEntries(
      redirects.map((status) => [`moved-${status}`, { status, headers: { location: `${party.origin}/logout/ok` } }]),
    ),
    busy: { status: 503 },
  };
  party.behave(({ path }) => answers[clientIdOf(path)]);
  await endSession(...Object.keys(answers).map((id) => client(id)), client('inside', 'https://10.0.0.1/logout'));
  const after = await until('each was tried', async () => {
    const all = await rows();
    return (
      all.length === redirects.length + 5 &&
      all.every(({ status, last_error }) => status !== 'pending' || last_error) &&
      all
    );
  });
  expect(
    Object.fromEntries(
      after.map(({ client: id, status, last_error, attempts }) => [id, [status, last_error, attempts]]),
    ),
  ).toEqual({
    ok: ['succeeded', null, 1],
    'no-content': ['succeeded', null, 1],
    refuses: ['failed', '400', 1],
    ...Object.fromEntries(redirects.map((status) => [`moved-${status}`, ['failed', String(status), 1]])),
    busy: ['pending', '503', 1],
    inside: ['failed', 'refused:private', 1],
  });
  expect(party.arrivals.filter(({ path }) => path === '/logout/ok')).toHaveLength(1);
});

test('BL-083: the token has all that a strict relying party asks for, and no more', async () => {
  party.behave(() => undefined);
  await endSession(client('strict'));
  const { id } = await rowOf('strict', ({ status }) => status === 'succeeded');
  const [arrival, ...others] = party.arrivals.filter(({ path }) => path === '/logout/strict');
  expect(others).toEqual([]);
  expect(arrival).toMatchObject({
    contentType: 'application/x-www-form-urlencoded',
    verdict: 'accepted',
    jti: id,
    ...session,
  });
  expect(complaints(arrival!.token, expectedAt('strict', id, arrival!.arrivedAt))).toEqual([]);
});

test('BL-087: each attempt signs a fresh token with the key of the moment, under the same jti; none is stored', async () => {
  const realNow = Date.now;
  let shift = 0;
  jest.spyOn(Date, 'now').mockImplementation(() => realNow() + shift);
  const minute = 60_000;
  party.behave(() => ({ status: 503 }));
  await endSession(client('late'));
  const arrived = (count: number) =>
    until(`attempt ${count} of "late"`, () => {
      const its = party.arrivals.filter(({ path }) => path === '/logout/late');
      return its.length === count && its.at(-1);
    });
  /** When so many attempts are settled: the clock and the key of another time. */
  const next = async (before: number, by: number, alg: 'RS256' | 'EdDSA'): Promise<void> => {
    await rowOf('late', ({ attempts, claimed }) => attempts === before && !claimed);
    shift += by;
    keys.rotate(alg);
  };
  const { id } = await rowOf('late', () => true);

  const first = await arrived(1);
  expect(complaints(first.token, expectedAt('late', id, first.arrivedAt))).toEqual([]);
  await next(1, 10 * minute, 'RS256');
  expect(complaints(first.token, expectedAt('late', id, Date.now()))).toEqual([
    'kid',
    'alg',
    'signature',
    'iat',
    'exp',
  ]);

  await database.query(
    `UPDATE deliveries.deliveries SET due_at = clock_timestamp(), claim_token = NULL WHERE id = $1`,
    [id],
  );
  const second = await arrived(2);
  expect(complaints(second.token, expectedAt('late', id, second.arrivedAt))).toEqual([]);

  // An hour later it has failed for its age, and an operator has it sent all the same.
  await next(2, 60 * minute, 'EdDSA');
  await database.query(
    `UPDATE deliveries.deliveries SET created_at = created_at - interval '70 minutes', due_at = clock_timestamp() WHERE id = $1`,
    [id],
  );
  await rowOf('late', ({ status, last_error: error }) => status === 'failed' && error === 'expired');
  party.behave(() => undefined);
  await app.get(DeliveryOperations).retry(id, { actor: 'ada' });
  await rowOf('late', ({ status }) => status === 'succeeded');
  const third = party.arrivals.at(-1)!;
  expect(third.verdict).toBe('accepted');
  expect(complaints(third.token, expectedAt('late', id, third.arrivedAt))).toEqual([]);

  const parts = party.arrivals.flatMap(({ token }) => token.split('.'));
  const stored = await database.query<{ row: string }>(`
    SELECT d::text AS row FROM deliveries.deliveries d UNION ALL SELECT e::text FROM deliveries.events e
     UNION ALL SELECT a::text FROM deliveries.delivery_attempts a`);
  expect(stored.filter(({ row }) => parts.some((part) => row.includes(part)))).toEqual([]);
});

test('a delivery copies client, sub and sid, waits in the lane of its client, and names no address', async () => {
  await endSession(client('copy'));
  const [row] = await database.query(
    `SELECT destination, recipient, payload, lane, ordering_key FROM deliveries.deliveries WHERE recipient->>'clientId' = 'copy'`,
  );
  expect(row).toEqual({
    destination: 'client copy',
    recipient: { clientId: 'copy', ...session },
    payload: { logoutUri: `${party.origin}/logout/copy` },
    lane: 'copy',
    ordering_key: null,
  });
});

describe('the token', () => {
  const now = Date.now();
  const occasion = { issuer, clientId: 'rp', ...session, deliveryId: 'delivery-1', now };
  const expected = (of: Issuer): Expected => ({ ...expectedAt('rp', 'delivery-1', now), jwks: of.jwks });

  test.each(signingAlgorithms)(
    'signed with %s satisfies jose and a checker that uses node:crypto alone',
    async (alg) => {
      const its = new Issuer(alg);
      const token = await signLogoutToken(logoutClaims(occasion), its.signingKey());
      expect(complaints(token, expected(its))).toEqual([]);
      expect(await verify(token, its.trust('rp'), now)).toEqual({
        verdict: 'accepted',
        claims: { ...session, jti: 'delivery-1' },
      });
      expect(complaints(token, { ...expected(its), jwks: new Issuer(alg).jwks })).toContain('signature');
    },
  );

  const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

  // What the two verifiers refuse, since a verifier that accepts everything proves nothing.
  test.each([
    ['a nonce', { nonce: 'n' }, {}, ['claims', 'nonce']],
    ['no exp', { exp: undefined }, {}, ['claims', 'exp']],
    ['an exp in the past', { exp: Math.floor(now / 1_000) - 60 }, {}, ['exp']],
    ['another typ', {}, { typ: 'JWT' }, ['typ']],
    ['no event', { events: {} }, {}, ['events']],
    ['an event that is no object', { events: { [logoutEvent]: 'yes' } }, {}, ['events']],
    ['no jti', { jti: undefined }, {}, ['claims', 'jti']],
    ['no iat', { iat: undefined }, {}, ['claims', 'iat', 'exp']],
    ['another audience', { aud: 'other' }, {}, ['aud']],
    ['another issuer', { iss: 'https://other.example' }, {}, ['iss']],
  ])('a token with %s is refused by both', async (_, claims, header, wrong) => {
    const { kid, alg, privateKey } = keys.signingKey();
    const token = await new SignJWT({ ...logoutClaims(occasion), ...claims })
      .setProtectedHeader({ alg, kid, typ: 'logout+jwt', ...header })
      .sign(privateKey);
    expect(complaints(token, expected(keys))).toEqual(wrong);
    expect((await verify(token, keys.trust('rp'), now)).verdict).not.toBe('accepted');
  });
});

describe('the start fails in one sentence', () => {
  const good: BackchannelLogoutModuleOptions = { issuer, signingKey: keys.signingKey, clientsOf: () => [] };
  const pair = generateKeyPairSync('ed25519');
  const signingKey = (key: object) => ({ signingKey: () => key as never });

  test.each<[string, object, string]>([
    ['an issuer without TLS', { issuer: 'http://accounts.example' }, 'issuer must be an https address'],
    ['an issuer with a query', { issuer: `${issuer}?a=b` }, 'issuer must be an https address'],
    ['no function for the key', { signingKey: undefined }, 'signingKey must be a function'],
    ['a misspelt option', { signingkey: () => 1 }, 'the nearest is "signingKey"'],
    ['a key without kid', signingKey({ alg: 'EdDSA', privateKey: pair.privateKey }), 'has no kid'],
    [
      'alg none',
      signingKey({ kid: 'a', alg: 'none', privateKey: pair.privateKey }),
      'must be one of RS256, ES256, EdDSA',
    ],
    ['a public key', signingKey({ kid: 'a', alg: 'EdDSA', privateKey: pair.publicKey }), 'must be a private key'],
    [
      'a key for another alg',
      signingKey({ kid: 'a', alg: 'ES256', privateKey: pair.privateKey }),
      'private key for ES256',
    ],
    [
      'a short RSA key',
      signingKey({
        kid: 'a',
        alg: 'RS256',
        privateKey: generateKeyPairSync('rsa', { modulusLength: 1_024 }).privateKey,
      }),
      'RSA of 2048 bits',
    ],
  ])('with %s', async (_, wrong, sentence) => {
    const module = Test.createTestingModule({
      imports: [OutboundHttpModule.forRoot({ isGlobal: true }), BackchannelLogoutModule.forRoot({ ...good, ...wrong })],
    });
    const start = async (): Promise<unknown> => (await module.compile()).init();
    await expect(start()).rejects.toThrow(sentence);
  });

  test('without a client for HTTP', async () => {
    const module = Test.createTestingModule({ imports: [BackchannelLogoutModule.forRoot(good)] });
    await expect(module.compile()).rejects.toThrow('Import OutboundHttpModule.forRoot({ isGlobal: true })');
  });
});
