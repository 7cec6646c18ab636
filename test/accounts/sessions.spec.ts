import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { Client } from 'pg';
import { readEnvironment } from '../../src/configuration';
import { createTestCa } from '../../src/demo/certificates';
import { startRelyingParty, type LogoutArrival, type RelyingParty } from '../../src/demo/relying-party';
import { newSecrets } from '../../src/secrets';
import { SessionsModule } from '../../src/sessions/sessions.module';
import { gate, until } from '../faults/support/facts';
import { publicUrl, Service, type Person } from './support/service';

let service: Service;
let party: RelyingParty;
const clients = new Map<string, string>();
const redirectUri = 'https://client.example/callback';

beforeAll(async () => {
  const ca = await createTestCa();
  service = await Service.start({ outboundHttp: { testMode: { ca: ca.certificate } } });
  const keys = createRemoteJWKSet(new URL(`${service.application.url}/.well-known/jwks.json`));
  party = await startRelyingParty(await ca.issue({ hosts: ['127.0.0.1'] }), (path) => ({
    issuer: publicUrl,
    clientId: path.split('/')[1]!,
    keys,
  }));
  for (const id of ['shop', 'wiki']) clients.set(id, await register(id, `${party.origin}/${id}/logout`));
  clients.set('silent', await register('silent'));
});

afterAll(async () => {
  await service?.close();
  party?.close();
});

/** @returns its secret */
async function register(id: string, backchannelLogoutUri?: string): Promise<string> {
  const body = { id, name: id, redirectUri, ...(backchannelLogoutUri && { backchannelLogoutUri }) };
  const { secret } = await service.must<{ secret: string }>('POST', '/admin/oidc-clients', { token: 'operator', body });
  return secret;
}

const authorize = async (token: string, clientId: string): Promise<string> => {
  const { code } = await service.must<{ code: string }>('POST', '/oidc/authorize', {
    token,
    body: { clientId, redirectUri },
  });
  return code;
};
const redeem = (clientId: string, code: string) =>
  service.call<{ id_token: string }>('POST', '/oidc/token', {
    body: { code, client_id: clientId, client_secret: clients.get(clientId), redirect_uri: redirectUri },
  });

/** A person with tokens at these clients. */
async function signedInAt(...ids: string[]): Promise<Person & { sid: string }> {
  const person = await service.person();
  for (const id of ids) expect((await redeem(id, await authorize(person.token, id))).status).toBe(200);
  const [session] = await service.must<[{ id: string }]>('GET', '/account/sessions', { token: person.token });
  return { ...person, sid: session.id };
}

const tokensAbout = (accountId: string): LogoutArrival[] => party.arrivals.filter(({ sub }) => sub === accountId);

/** Waits for what a session's end causes. */
async function told(accountId: string): Promise<string[]> {
  await until(`the logout tokens about ${accountId} are sent`, async () => {
    const rows = await service.database.query(
      `SELECT FROM deliveries.deliveries WHERE channel = 'backchannel_logout' AND recipient->>'sub' = $1 AND status = 'pending'`,
      [accountId],
    );
    return rows.length === 0;
  });
  return tokensAbout(accountId)
    .map(({ path, sid }) => `${path} ${sid}`)
    .toSorted();
}

const operator = (method: string, { accountId }: Person, what = '') =>
  service.must(method, `/admin/accounts/${accountId}${what}`, { token: 'operator' });

describe('every early end of a session tells the clients that have tokens from it', () => {
  test.each<[string, (person: Person & { sid: string }) => Promise<unknown>]>([
    ['signing out', (p) => service.must('DELETE', `/account/sessions/${p.sid}`, { token: p.token })],
    [
      'ending the others',
      async (p) => service.must('POST', '/account/sessions/end-others', await service.signIn(p.handle)),
    ],
    [
      'a recovery',
      async (p) => {
        await service.must('POST', '/recoveries', { body: { email: p.email } });
        const [row] = await service.database.query<{ id: string }>('SELECT id FROM recoveries WHERE account_id = $1', [
          p.accountId,
        ]);
        await service.must('POST', '/recoveries/complete', { body: { token: service.tokenOf('recovery', row!.id) } });
      },
    ],
    ['disabling the account', (p) => operator('POST', p, '/disable')],
    ['purging the account', (p) => operator('DELETE', p)],
  ])('%s', async (_, end) => {
    const person = await signedInAt('shop', 'wiki', 'silent');
    await end(person);
    expect(await told(person.accountId)).toEqual([`/shop/logout ${person.sid}`, `/wiki/logout ${person.sid}`]);
    expect(tokensAbout(person.accountId).map(({ verdict }) => verdict)).toEqual(['accepted', 'accepted']);
    expect((await service.call('GET', '/account/sessions', { token: person.token })).status).toBe(401);
  });

  test('and nobody else: not a client without tokens, not when a session expires, not of another session', async () => {
    const person = await signedInAt('shop');
    const other = await service.signIn(person.handle);
    await authorize(other.token, 'wiki');
    await service.must('DELETE', `/account/sessions/${other.sessionId}`, { token: other.token });
    await service.database.query('UPDATE sessions SET expires_at = now() WHERE id = $1', [person.sid]);
    await operator('POST', person, '/disable');
    expect(await told(person.accountId)).toEqual([]);
    const recorded = await service.database.query(
      `SELECT FROM deliveries.events WHERE type = 'session_revoked' AND payload->>'sub' = $1`,
      [person.accountId],
    );
    expect(recorded).toHaveLength(1);
  });
});

test('who ends a session does not wait for a client that takes its time', async () => {
  const person = await signedInAt('shop');
  const answered = gate();
  party.behave(() => answered.passed.then(() => undefined));
  try {
    await service.must('DELETE', `/account/sessions/${person.sid}`, { token: person.token });
    await until('the client has its token', () => tokensAbout(person.accountId).length === 1);
    const [row] = await service.database.query(
      `SELECT status FROM deliveries.deliveries WHERE channel = 'backchannel_logout' AND recipient->>'sub' = $1`,
      [person.accountId],
    );
    expect(row).toEqual({ status: 'pending' });
  } finally {
    party.behave(() => undefined);
    answered.open();
  }
  expect(await told(person.accountId)).toEqual([`/shop/logout ${person.sid}`]);
});

test('what was recorded arrives at the recorded place, whatever is deleted or changed afterwards', async () => {
  clients.set('moves', await register('moves', `${party.origin}/moves/logout`));
  clients.set('leaves', await register('leaves', `${party.origin}/leaves/logout`));
  const person = await signedInAt('moves', 'leaves');
  await service.holding('backchannel_logout', async () => {
    await service.must('DELETE', `/account/sessions/${person.sid}`, { token: person.token });
    await service.must('PUT', '/admin/oidc-clients/moves/backchannel-logout-uri', {
      token: 'operator',
      body: { backchannelLogoutUri: `${party.origin}/moves/elsewhere` },
    });
    await service.must('DELETE', '/admin/oidc-clients/leaves', { token: 'operator' });
    await operator('DELETE', person);
  });
  expect(await told(person.accountId)).toEqual([`/leaves/logout ${person.sid}`, `/moves/logout ${person.sid}`]);
  const [row] = await service.database.query(
    `SELECT recipient, destination FROM deliveries.deliveries WHERE recipient->>'sub' = $1 AND recipient->>'clientId' = 'moves'`,
    [person.accountId],
  );
  expect(row).toEqual({
    recipient: { clientId: 'moves', sub: person.accountId, sid: person.sid },
    destination: 'client moves',
  });
});

describe('who has tokens is noted by the database', () => {
  test('also when another release redeems a code, also while the session is being ended', async () => {
    const person = await signedInAt('shop');
    await authorize(person.token, 'wiki');
    const release = new Client({ connectionString: service.database.url });
    await release.connect();
    try {
      await release.query('BEGIN');
      await release.query(
        `UPDATE authorization_codes SET redeemed_at = now() WHERE session_id = $1 AND client_id = 'wiki'`,
        [person.sid],
      );
      const ending = service.must('DELETE', `/account/sessions/${person.sid}`, { token: person.token });
      await until('the end waits for the code', async () => {
        const waiting = await service.database.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM sessions%'`,
        );
        return waiting.length > 0;
      });
      await release.query('COMMIT');
      await ending;
    } finally {
      await release.end();
    }
    expect(await told(person.accountId)).toEqual([`/shop/logout ${person.sid}`, `/wiki/logout ${person.sid}`]);
  });

  test('an account whose sessions were not ended first cannot be deleted', async () => {
    const { accountId } = await service.person();
    await expect(service.database.query('DELETE FROM accounts WHERE id = $1', [accountId])).rejects.toThrow('sessions');
  });
});

test('a code is for one use by its client; the ID token names the session that a logout token will name', async () => {
  const person = await service.person();
  const code = await authorize(person.token, 'shop');
  expect((await redeem('wiki', code)).status).toBe(400);
  const answers = await Promise.all([redeem('shop', code), redeem('shop', code)]);
  expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['200', '400']);
  const { id_token: idToken } = answers.find(({ status }) => status === 200)!.body;
  const configuration = await service.must<{ jwks_uri: string; issuer: string }>(
    'GET',
    '/.well-known/openid-configuration',
  );
  const published = createRemoteJWKSet(new URL(configuration.jwks_uri.replace(publicUrl, service.application.url)));
  await jwtVerify(idToken, published, { issuer: configuration.issuer, audience: 'shop', typ: 'JWT' });
  const [session] = await service.must<[{ id: string; clients: string[] }]>('GET', '/account/sessions', {
    token: person.token,
  });
  expect(decodeJwt(idToken)).toMatchObject({ sub: person.accountId, sid: session.id });
  expect(session.clients).toEqual(['shop']);
  const wrongSecret = { code, client_id: 'shop', client_secret: 'x', redirect_uri: redirectUri };
  expect((await service.call('POST', '/oidc/token', { body: wrongSecret })).status).toBe(401);
});

test('what is published of the keys is their public half', async () => {
  const { keys } = await service.must<{ keys: Record<string, string>[] }>('GET', '/.well-known/jwks.json');
  const [{ kid, d }] = service.secrets.signingKeys as unknown as [{ kid: string; d: string }];
  expect(keys).toMatchObject([{ kid, alg: 'ES256', use: 'sig', kty: 'EC' }]);
  expect(JSON.stringify(keys)).not.toContain(d);
});

test('clients are registered by operators, at addresses that may be sent to', async () => {
  const body = { id: 'x', name: 'x', redirectUri, backchannelLogoutUri: 'https://10.0.0.1/logout' };
  const answers = await Promise.all([
    service.call('POST', '/admin/oidc-clients', { body }),
    service.call('POST', '/admin/oidc-clients', { token: 'operator', body }),
    service.call('POST', '/admin/oidc-clients', {
      token: 'operator',
      body: { ...body, id: 'shop', backchannelLogoutUri: undefined },
    }),
    service.call('PUT', '/admin/oidc-clients/nobody/backchannel-logout-uri', {
      token: 'operator',
      body: { backchannelLogoutUri: null },
    }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([401, 400, 409, 404]);
});

describe('production', () => {
  const production = {
    NODE_ENV: 'production',
    PUBLIC_URL: 'https://accounts.example/',
    SECRETS: JSON.stringify(newSecrets()),
  };

  test('starts with secrets of its own under a public address, and without a test login', () => {
    expect(readEnvironment(production)).toMatchObject({ publicUrl: 'https://accounts.example', testLogin: false });
    expect(readEnvironment({})).toMatchObject({
      publicUrl: 'http://localhost:3000',
      testLogin: true,
      secrets: undefined,
    });
  });

  test.each([
    [{ TEST_LOGIN: 'on' }, 'TEST_LOGIN must be on or off, and off in production'],
    [{ SECRETS: '' }, 'SECRETS must be set in production'],
    [{ SECRETS: '{"tokenDigestKeys":["hunter2"]}' }, 'tokenDigestKeys must be a list of keys of 32 bytes each'],
    [{ SECRETS: 'hunter2' }, 'SECRETS must be JSON'],
    [{ PUBLIC_URL: 'http://accounts.example' }, 'PUBLIC_URL must be an https address'],
    [{ PUBLIC_URL: '' }, 'PUBLIC_URL must be an https address'],
    [{ MAIL_FROM: 'nobody' }, 'MAIL_FROM must be like Name <local@domain>'],
  ])('does not start with %j', (wrong, sentence) => {
    expect(() => readEnvironment({ ...production, ...wrong })).toThrow(sentence);
    expect(() => readEnvironment({ ...production, ...wrong })).not.toThrow('hunter2');
  });

  test('serves no test login, whoever asks for it', () => {
    const before = process.env.NODE_ENV;
    process.env.NODE_ENV = 'production';
    try {
      expect(() => SessionsModule.forRoot({ testLogin: true })).toThrow('anybody could sign in as anybody');
    } finally {
      process.env.NODE_ENV = before;
    }
  });
});
