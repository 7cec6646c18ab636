import { createRemoteJWKSet } from 'jose';
import { createTestCa } from '../../src/demo/certificates';
import { refusalText } from '../../src/demo/mail-sink';
import { startRelyingParty, type RelyingParty } from '../../src/demo/relying-party';
import { LinkTokens } from '../../src/links/link-tokens';
import { until } from '../faults/support/facts';
import { foundIn, formsOf, rowsOf, spelt } from './support/canaries';
import { publicUrl, Service } from './support/service';

const redirectUri = 'https://client.example/callback';
let service: Service;
let party: RelyingParty;
let log = '';

beforeAll(async () => {
  for (const stream of [process.stdout, process.stderr]) {
    jest.spyOn(stream, 'write').mockImplementation((chunk) => {
      log += String(chunk);
      return true;
    });
  }
  const ca = await createTestCa();
  service = await Service.start({ outboundHttp: { testMode: { ca: ca.certificate } } }, [
    'verbose',
    'debug',
    'log',
    'warn',
    'error',
    'fatal',
  ]);
  party = await startRelyingParty(await ca.issue({ hosts: ['127.0.0.1'] }), () => ({
    issuer: publicUrl,
    clientId: 'shop',
    keys: createRemoteJWKSet(new URL(`${service.application.url}/.well-known/jwks.json`)),
  }));
  party.behave(() => ({ status: 500, body: 'canary-body' }));
});

afterAll(async () => {
  jest.restoreAllMocks();
  await service?.close();
  party?.close();
});

test('a form is found wherever it stands', () => {
  const secret = 'canary-0123456789/+"';
  for (const text of [
    secret,
    JSON.stringify({ secret }),
    Buffer.from(`x${secret}y`).toString('hex'),
    ...[0, 1, 2].flatMap((before) =>
      (['base64', 'base64url'] as const).map((form) => Buffer.from(`${'x'.repeat(before)}${secret}yy`).toString(form)),
    ),
  ]) {
    expect(foundIn(text, { secret })).toEqual(['secret']);
  }
  expect(formsOf('abc')).not.toContain('');
  expect(foundIn('nothing', { secret })).toEqual([]);
});

test('no token, key, address or reply is stored with the queue, logged or exported, but for the copied address of a notification', async () => {
  const ada = await service.person('canary-ada');
  const second = 'canary-second@example.com';
  const refused = 'canary-refused@example.com';
  service.mail.behave(({ to }) => (to === refused ? 550 : undefined));

  // Links, one of them to an address that the relay refuses with a text of its own.
  const addressId = await service.verifiedAddress(ada, second);
  await service.must('POST', '/account/addresses', { token: ada.token, body: { email: refused } });
  await service.must('POST', '/recoveries', { body: { email: ada.email } });
  const [recovery] = await service.database.query<{ id: string }>('SELECT id FROM recoveries');
  await service.ended(ada.accountId);

  // A client that answers with a body of its own, and a session that it has tokens from.
  const { secret } = await service.must<{ secret: string }>('POST', '/admin/oidc-clients', {
    token: 'operator',
    body: {
      id: 'shop',
      name: 'Shop',
      redirectUri,
      backchannelLogoutUri: `${party.origin}/canary-path?key=canary-query`,
    },
  });
  const { code } = await service.must<{ code: string }>('POST', '/oidc/authorize', {
    token: ada.token,
    body: { clientId: 'shop', redirectUri },
  });
  const { id_token: idToken } = await service.must<{ id_token: string }>('POST', '/oidc/token', {
    body: { code, client_id: 'shop', client_secret: secret, redirect_uri: redirectUri },
  });
  // Partners, whose systems answer likewise.
  await service.must('POST', '/partners', {
    body: { name: 'Partner', endpoint: `${party.origin}/canary-path?key=canary-query` },
  });
  const { secrets: shown } = await service.must<{ secrets: { secret: string } }>('POST', '/admin/webhooks/endpoints', {
    token: 'operator',
    body: { url: `${party.origin}/canary-path?key=canary-query`, kinds: ['account_created'], schemes: ['standard'] },
  });
  const inbox = await service.must<{ secret: string }>('GET', '/admin/webhooks/inbox', { token: 'operator' });
  await service.must('POST', '/accounts', { body: { handle: 'bea' } });
  await service.must('POST', '/recoveries/complete', {
    body: { token: service.tokenOf('recovery', recovery!.id), passkey: 'Phone' },
  });
  await service.must('POST', '/admin/announcements', {
    token: 'operator',
    body: { subject: 'canary-subject', text: 'canary-text', essential: false },
  });
  // An attempt is counted when it begins: only what is written down of it says that its receiver was reached.
  await until('everything has ended, and what the client answered is written down', async () => {
    const open = await service.database.query(
      `SELECT FROM deliveries.deliveries d WHERE status = 'pending'
          AND NOT EXISTS (SELECT FROM deliveries.delivery_attempts a WHERE a.delivery_id = d.id AND a.error = '500')`,
    );
    return open.length === 0;
  });
  const metrics = await service.must<string>('GET', '/metrics');

  const tokens = new LinkTokens(service.secrets.tokenDigestKeys);
  const { d: signingKey } = service.secrets.signingKeys[0]!;
  const secrets = {
    ...spelt('token digest key', service.secrets.tokenDigestKeys[0]!),
    ...spelt('signing key', signingKey!),
    ...spelt('secret of an endpoint', shown.secret),
    ...spelt('secret of the inbox', inbox.secret),
    ...spelt('verification token', service.tokenOf('verification', addressId)),
    ...spelt('recovery token', service.tokenOf('recovery', recovery!.id)),
    ...spelt('unsubscribe token', tokens.speaking('unsubscribe', ada.accountId).slice(37)),
    ...spelt('session token', ada.token),
    ...spelt('client secret', secret),
    ...spelt('code', code),
    'id token': idToken.split('.')[2]!,
    'operators’ token': 'known-to-operators',
    'reply of the relay': refusalText,
    'body of a client': 'canary-body',
    'logout token': party.arrivals.find(({ token }) => token !== '')!.token.split('.')[2]!,
    'text of an announcement': 'canary-text',
  };
  const personal = {
    'refused address': refused,
    'primary address': ada.email,
    'second address': second,
    'path of a receiver': 'canary-path',
    'query of a receiver': 'canary-query',
  };
  // The search finds what is there.
  expect(foundIn(service.mail.arrivals.map(({ text }) => text).join('\n'), secrets)).toEqual(
    expect.arrayContaining(['verification token', 'recovery token', 'unsubscribe token', 'text of an announcement']),
  );

  expect(foundIn(log, { ...secrets, ...personal })).toEqual([]);
  expect(log).toContain('attempt');
  expect(foundIn(metrics, { ...secrets, ...personal })).toEqual([]);
  const rows = await rowsOf(service.database, ['deliveries']);
  const own = await rowsOf(service.database, ['public']);
  expect(foundIn(rows.map(({ row }) => row).join('\n'), secrets)).toEqual([]);
  expect(
    foundIn(own.map(({ row }) => row).join('\n'), { ...secrets, 'text of an announcement': 'no such text' }),
  ).toEqual([]);

  // An address and a receiver's URL are where they must be: in the one delivery that needs a copy. A webhook's is sealed.
  const holding = rows.filter(({ row }) => foundIn(row, personal).length > 0);
  expect([...new Set(holding.map(({ table }) => table))]).toEqual(['deliveries.deliveries']);
  const copies = await service.database.query<{ is: string }>(
    `SELECT DISTINCT coalesce(payload->>'is', channel) AS is FROM deliveries.deliveries d WHERE d::text LIKE '%canary-%' ORDER BY 1`,
  );
  expect(copies.map(({ is }) => is)).toEqual(['backchannel_logout', 'notification', 'partner_notification']);
  const around = await service.database.query<{ row: string }>(
    `SELECT (to_jsonb(d) - 'payload')::text AS row FROM deliveries.deliveries d`,
  );
  expect(foundIn(around.map(({ row }) => row).join('\n'), personal)).toEqual([]);
  await service.database.query('DELETE FROM deliveries.deliveries');
  const left = await rowsOf(service.database, ['deliveries']);
  expect(left.filter(({ row }) => foundIn(row, personal).length > 0)).toEqual([]);
});
