import type { Mail } from '../../src/demo/mail';
import { EmailSender } from 'nest-deliveries/email';
import { LinkTokens, tokenDigest } from '../../src/links/link-tokens';
import { PublicPages } from '../../src/links/public-pages';
import { AccountEmailChannel } from '../../src/mail/account-email.channel';
import { addresseesOf, type Notification } from '../../src/notifications/notification';
import { Notifier } from '../../src/notifications/notifier';
import { newSecrets } from '../../src/secrets';
import { until } from '../faults/support/facts';
import { publicUrl, Service, type Person } from './support/service';

let service: Service;
const older = newSecrets().tokenDigestKeys[0]!;

beforeAll(async () => {
  const secrets = newSecrets();
  service = await Service.start({ secrets: { ...secrets, tokenDigestKeys: [...secrets.tokenDigestKeys, older] } });
});

afterAll(() => service?.close());

const linkIn = ({ text }: Mail, path: string): string | undefined =>
  new RegExp(`https://accounts\\.example/${path}\\S*`).exec(text)?.[0];
const tokenIn = (mail: Mail, path: string): string => new URL(linkIn(mail, path)!).searchParams.get('token')!;

/** Waits for the one message to a mailbox. */
const only = (address: string): Promise<Mail> =>
  until(`a message to ${address}`, () => {
    const [mail, ...others] = service.mail.at(address);
    if (others.length > 0) throw new Error(`${address} got ${others.length + 1} messages.`);
    return mail;
  });

const addAddress = async (person: Person, email: string): Promise<string> => {
  const { id } = await service.must<{ id: string }>('POST', '/account/addresses', {
    token: person.token,
    body: { email },
  });
  return id;
};
const startRecovery = async (person: Person): Promise<string> => {
  await service.must('POST', '/recoveries', { body: { email: person.email } });
  const [row] = await service.database.query<{ id: string }>('SELECT id FROM recoveries WHERE account_id = $1', [
    person.accountId,
  ]);
  return row!.id;
};
const operator = (method: string, person: Person, what = '', body?: object) =>
  service.must(method, `/admin/accounts/${person.accountId}${what}`, { token: 'operator', ...(body && { body }) });
const complete = (recoveryId: string, passkey?: string) =>
  service.must('POST', '/recoveries/complete', {
    body: { token: service.tokenOf('recovery', recoveryId), ...(passkey && { passkey }) },
  });

/** What is stored of a delivery. */
const stored = async (id: string): Promise<Record<string, unknown>> => {
  const [row] = await service.database.query(
    'SELECT destination, recipient, payload, ordering_key FROM deliveries.deliveries WHERE id = $1',
    [id],
  );
  return row!;
};

describe('a verification link', () => {
  test('is sent for an account that signs up with an address, and makes that address the primary one', async () => {
    const handle = 'signs-up';
    const account = await service.must<{ id: string }>('POST', '/accounts', {
      body: { handle, email: 'new@example.com' },
    });
    const mail = await only('new@example.com');
    expect(mail.subject).toBe('Verify your address');
    expect(mail.text).toContain(`Hello ${handle},`);
    const [delivery] = await service.ended(account.id);
    expect(mail.messageId).toBe(`<${delivery!.id}@accounts.example>`);
    const addressId = await service.addressId({ accountId: account.id, handle, email: 'new@example.com', token: '' });
    expect(await stored(delivery!.id)).toEqual({
      destination: `account ${account.id}, address ${addressId}`,
      recipient: { accountId: account.id },
      payload: { is: 'verification_link', addressId },
      ordering_key: null,
    });

    // Looking at it is not following it.
    const token = tokenIn(mail, 'verify');
    expect((await service.call('GET', `/verify?token=${token}`)).status).toBe(200);
    const { token: session } = await service.signIn(handle);
    const addresses = () => service.must('GET', '/account/addresses', { token: session });
    expect(await addresses()).toMatchObject([{ email: 'new@example.com', primary: false, verified: false }]);
    await service.must('POST', '/verify', { body: { token } });
    expect(await addresses()).toMatchObject([{ email: 'new@example.com', primary: true, verified: true }]);
    expect((await service.call('POST', '/verify', { body: { token } })).status).toBe(404);
  });

  test.each<[string, (person: Person, addressId: string) => Promise<unknown>, string]>([
    [
      'was removed',
      (p, id) => service.must('DELETE', `/account/addresses/${id}`, { token: p.token }),
      'address_removed',
    ],
    [
      'was replaced',
      (p, id) =>
        service.must('PUT', `/account/addresses/${id}`, {
          token: p.token,
          body: { email: `${p.handle}-3@example.com` },
        }),
      'address_removed',
    ],
    [
      'was verified',
      (_, id) => service.must('POST', '/verify', { body: { token: service.tokenOf('verification', id) } }),
      'address_verified',
    ],
    ['is of an account that was disabled', (p) => operator('POST', p, '/disable'), 'account_not_active'],
    ['is of an account that was purged', (p) => operator('DELETE', p), 'address_removed'],
    [
      'waited longer than its link works',
      (_, id) => service.database.query('UPDATE addresses SET link_expires_at = now() WHERE id = $1', [id]),
      'link_expired',
    ],
  ])('is not sent to an address that %s meanwhile', async (_, change, why) => {
    const person = await service.person();
    const second = `${person.handle}-2@example.com`;
    await service.holding('email', async () => change(person, await addAddress(person, second)));
    const [link] = (await service.ended(person.accountId)).filter(({ is }) => is === 'verification_link');
    expect(link).toMatchObject({ status: 'succeeded', why });
    expect(service.mail.at(second)).toEqual([]);
  });

  test('that was made with an older key works; one whose key is gone fails, and is not sent', async () => {
    const [one, other] = [await service.person(), await service.person()];
    const unknownKey = newSecrets().tokenDigestKeys;
    const remake = async (person: Person, email: string, keys: readonly string[]): Promise<void> => {
      const id = await addAddress(person, email);
      await service.database.query('UPDATE addresses SET token_digest = $2 WHERE id = $1', [
        id,
        new LinkTokens(keys).digestOf('verification', id),
      ]);
    };
    await service.holding('email', async () => {
      await remake(one, 'older-key@example.com', [older]);
      await remake(other, 'no-key@example.com', unknownKey);
    });
    const token = tokenIn(await only('older-key@example.com'), 'verify');
    await service.must('POST', '/verify', { body: { token } });
    const failed = (await service.ended(other.accountId)).filter(({ status }) => status === 'failed');
    expect(failed).toMatchObject([{ is: 'verification_link', why: 'verification_key_gone' }]);
    expect(service.mail.at('no-key@example.com')).toEqual([]);
  });

  test('is the same on every attempt, under the same Message-ID', async () => {
    const person = await service.person();
    const address = `${person.handle}-again@example.com`;
    const seen: Mail[] = [];
    service.mail.behave((mail) => (mail.to === address && seen.push(mail) < 3 ? 451 : undefined));
    await addAddress(person, address);
    await service.ended(person.accountId);
    service.mail.behave(() => undefined);
    expect(seen.map(({ messageId, text, html }) => ({ messageId, text, html }))).toEqual([
      ...Array.from({ length: 3 }, () => ({ messageId: seen[0]!.messageId, text: seen[0]!.text, html: seen[0]!.html })),
    ]);
    expect(seen).toHaveLength(3);
  });

  test('is tried for 24 hours, and not after', async () => {
    const person = await service.person();
    const address = `${person.handle}-late@example.com`;
    let tries = 0;
    service.mail.behave(({ to }) => (to === address ? ((tries += 1), 451) : undefined));
    const addressId = await addAddress(person, address);
    const made = (ago: string) =>
      until(`it is told that it was made ${ago} ago`, async () => {
        const rows = await service.database.query(
          `UPDATE deliveries.deliveries SET created_at = clock_timestamp() - $2::interval, due_at = clock_timestamp()
            WHERE payload->>'addressId' = $1 AND claim_token IS NULL AND attempts > 0 RETURNING id`,
          [addressId, ago],
        );
        return rows.length === 1;
      });
    await made('23 hours 59 minutes');
    const before = tries;
    await until('it is tried again', () => tries > before);
    await made('24 hours');
    await service.ended(person.accountId);
    service.mail.behave(() => undefined);
    const [{ status, error }] = (await service.database.query(
      `SELECT status, last_error AS error FROM deliveries.deliveries WHERE payload->>'addressId' = $1`,
      [addressId],
    )) as [{ status: string; error: string }];
    expect({ status, error }).toEqual({ status: 'failed', error: 'expired' });
  });

  test('to an address that two accounts added is good for the first that follows it', async () => {
    const [one, other] = [await service.person(), await service.person()];
    await addAddress(one, 'shared@example.com');
    const late = await addAddress(other, 'Shared@example.com');
    await service.must('POST', '/verify', {
      body: { token: service.tokenOf('verification', await service.addressId(one, 'shared@example.com')) },
    });
    const answer = await service.call('POST', '/verify', { body: { token: service.tokenOf('verification', late) } });
    expect(answer).toMatchObject({ status: 409, body: { message: 'This address belongs to another account.' } });
  });
});

describe('a recovery link', () => {
  test('goes to the primary address, works once, and its asker learns nothing', async () => {
    const person = await service.person();
    const unknown = await service.call('POST', '/recoveries', { body: { email: 'nobody@example.com' } });
    const known = await service.call('POST', '/recoveries', { body: { email: person.email } });
    expect(known).toEqual(unknown);
    const token = tokenIn(await only(person.email), 'recover');
    const [{ id: recoveryId }] = (await service.database.query('SELECT id FROM recoveries WHERE account_id = $1', [
      person.accountId,
    ])) as [{ id: string }];
    const addressId = await service.addressId(person);
    const [delivery] = await service.ended(person.accountId);
    expect(await stored(delivery!.id)).toEqual({
      destination: `account ${person.accountId}, address ${addressId}`,
      recipient: { accountId: person.accountId },
      payload: { is: 'recovery_link', recoveryId, addressId },
      ordering_key: null,
    });
    // Once more within five minutes: nothing leaves.
    await service.must('POST', '/recoveries', { body: { email: person.email } });
    expect(await service.deliveries(person.accountId)).toHaveLength(1);
    expect((await service.call('GET', `/recover?token=${token}`)).status).toBe(200);
    await service.must('POST', '/recoveries/complete', { body: { token } });
    expect((await service.call('POST', '/recoveries/complete', { body: { token } })).status).toBe(404);
    expect((await service.call('GET', '/account/addresses', { token: person.token })).status).toBe(401);
  });

  test.each<[string, (person: Person, recoveryId: string) => Promise<unknown>, string]>([
    ['was used', (_, id) => complete(id), 'recovery_used'],
    [
      'was cancelled',
      (p, id) => service.must('POST', `/account/recoveries/${id}/cancel`, { token: p.token }),
      'recovery_cancelled',
    ],
    [
      'has expired',
      (_, id) => service.database.query('UPDATE recoveries SET expires_at = now() WHERE id = $1', [id]),
      'link_expired',
    ],
    ['is of an account that was disabled', (p) => operator('POST', p, '/disable'), 'account_not_active'],
    ['is of an account that was purged', (p) => operator('DELETE', p), 'account_not_active'],
    [
      'was to go to an address that was removed',
      async (p) => service.must('DELETE', `/account/addresses/${await service.addressId(p)}`, { token: p.token }),
      'address_removed',
    ],
  ])('is not sent when it %s meanwhile', async (_, change, why) => {
    const person = await service.person();
    await service.holding('email', async () => change(person, await startRecovery(person)));
    const [link] = (await service.ended(person.accountId)).filter(({ is }) => is === 'recovery_link');
    expect(link).toMatchObject({ status: 'succeeded', why });
    expect(service.mail.at(person.email).filter(({ subject }) => subject === 'Recover your account')).toEqual([]);
  });
});

describe('a recovery link, while keys are changed,', () => {
  test('works when it was made with the older key; one whose key is gone fails, and is not sent', async () => {
    const [one, other] = [await service.person(), await service.person()];
    const remake = async (person: Person, keys: readonly string[]): Promise<void> => {
      const id = await startRecovery(person);
      await service.database.query('UPDATE recoveries SET token_digest = $2 WHERE id = $1', [
        id,
        new LinkTokens(keys).digestOf('recovery', id),
      ]);
    };
    await service.holding('email', async () => {
      await remake(one, [older]);
      await remake(other, newSecrets().tokenDigestKeys);
    });
    const token = tokenIn(await only(one.email), 'recover');
    await service.must('POST', '/recoveries/complete', { body: { token } });
    expect(await service.ended(other.accountId)).toMatchObject([
      { is: 'recovery_link', status: 'failed', why: 'recovery_key_gone' },
    ]);
    expect(service.mail.at(other.email)).toEqual([]);
  });
});

describe('a notification', () => {
  const named = { id: 'a3', email: 'c@example.com' };
  const verified = [
    { id: 'a1', email: 'a@example.com', primary: false },
    { id: 'a2', email: 'b@example.com', primary: true },
  ];
  const recovered = { recoveryId: 'r', passkey: 'Phone', undoable: true };

  const concerned: [Notification, string[]][] = [
    [{ kind: 'recovered', data: recovered }, ['a1', 'a2']],
    [{ kind: 'account_secured', data: { recoveryId: 'r' } }, ['a1', 'a2']],
    [{ kind: 'address_replaced', data: { address: named } }, ['a3']],
    [{ kind: 'address_removed', data: { address: named } }, ['a3']],
    [{ kind: 'address_added', data: { address: named } }, ['a2']],
    [{ kind: 'primary_changed', data: { address: named } }, ['a2']],
    [{ kind: 'recovery_undone', data: { recoveryId: 'r' } }, ['a2']],
    [{ kind: 'alert', data: { subject: 's', text: 't' } }, ['a2']],
  ];

  test.each(concerned.map(([each, ids]) => [each.kind, each, ids] as const))(
    '%s is for whom it concerns',
    (_, notification, ids) => {
      expect(addresseesOf(notification, verified).map(({ id }) => id)).toEqual(ids);
      const none = notification.kind.startsWith('address_re') ? ['a3'] : [];
      expect(addresseesOf(notification, []).map(({ id }) => id)).toEqual(none);
    },
  );

  test('of a recovery goes to every verified address, once to each, also to one that is removed right after', async () => {
    const person = await service.person();
    const second = await service.verifiedAddress(person, `${person.handle}-2@example.com`);
    await addAddress(person, `${person.handle}-unverified@example.com`);
    await service.must('POST', '/account/passkeys', { token: person.token, body: { name: 'Laptop' } });
    await service.ended(person.accountId);
    await service.holding('email', async () => {
      await complete(await startRecovery(person), 'Phone');
      const { token } = await service.signIn(person.handle);
      await service.must('DELETE', `/account/addresses/${second}`, { token });
    });
    await service.ended(person.accountId);
    const subject = 'Your account was recovered';
    const copies = service.mail.arrivals.filter(
      (mail) => mail.to.startsWith(person.handle) && mail.subject === subject,
    );
    expect(copies.map(({ to }) => to).toSorted()).toEqual([`${person.handle}-2@example.com`, person.email].toSorted());

    // It says what the inbox says, leads there, and to where another passkey can take it back.
    const { token } = await service.signIn(person.handle, 'Laptop');
    const inbox = await service.must<{ id: string; kind: string; subject: string; text: string }[]>(
      'GET',
      '/account/notifications',
      { token },
    );
    const entry = inbox.find(({ kind }) => kind === 'recovered')!;
    expect(entry).toMatchObject({ subject, text: expect.stringContaining('“Phone”') });
    for (const mail of copies) {
      for (const paragraph of entry.text.split('\n\n')) expect(mail.text).toContain(paragraph);
      expect(linkIn(mail, 'inbox/')).toBe(`https://accounts.example/inbox/${entry.id}`);
      expect(linkIn(mail, 'recoveries/')).toMatch(/^https:\/\/accounts\.example\/recoveries\/[\w-]{36}\/undo$/);
    }
    const undo = new URL(linkIn(copies[0]!, 'recoveries/')!).pathname;
    const fresh = await service.signIn(person.handle, 'Phone');
    expect((await service.call('POST', `/account${undo}`, fresh)).status).toBe(403);
    await service.must('POST', `/account${undo}`, { token });
    expect((await service.call('GET', '/account/preferences', fresh)).status).toBe(401);
    expect(
      (await service.call('POST', '/test-login', { body: { handle: person.handle, passkey: 'Phone' } })).status,
    ).toBe(404);
  });

  test('offers no undo where no other passkey could, nor after every passkey was taken away', async () => {
    const [bare, secured] = [await service.person(), await service.person()];
    await service.must('POST', '/account/passkeys', { token: secured.token, body: { name: 'Laptop' } });
    await complete(await startRecovery(bare), 'Phone');
    await complete(await startRecovery(secured));
    for (const [person, subject] of [
      [bare, 'Your account was recovered'],
      [secured, 'Your account was secured'],
    ] as const) {
      await service.ended(person.accountId);
      const [mail] = service.mail.at(person.email).filter((each) => each.subject === subject);
      expect(linkIn(mail!, 'inbox/')).toBeDefined();
      expect(linkIn(mail!, 'recoveries/')).toBeUndefined();
    }
  });

  test('that an address was replaced or removed goes to that address, though it is gone; and the others hear nothing', async () => {
    const person = await service.person();
    const [second, third] = [`${person.handle}-2@example.com`, `${person.handle}-3@example.com`];
    const secondId = await service.verifiedAddress(person, second);
    // The one that replaces it counts from its verification on, and so does the old one until then.
    const { id: thirdId } = await service.must<{ id: string }>('PUT', `/account/addresses/${secondId}`, {
      token: person.token,
      body: { email: third },
    });
    const addresses = () => service.must<{ email: string }[]>('GET', '/account/addresses', { token: person.token });
    expect((await addresses()).map(({ email }) => email)).toEqual([person.email, second, third]);
    await service.must('POST', '/verify', { body: { token: service.tokenOf('verification', thirdId) } });
    expect((await addresses()).map(({ email }) => email)).toEqual([person.email, third]);
    await service.must('DELETE', `/account/addresses/${thirdId}`, { token: person.token });
    await service.ended(person.accountId);
    const subjects = (address: string): string[] => service.mail.at(address).map(({ subject }) => subject);
    expect(subjects(second)).toContain('Your address was replaced');
    expect(subjects(third)).toContain('Your address was removed');
    expect(subjects(person.email)).not.toContain('Your address was removed');
  });

  test('arrives although its account is purged right after; an alert leads to the alerts; without an address there is none', async () => {
    const [purged, silent] = [await service.person(), await service.person()];
    await service.holding('email', async () => {
      await operator('POST', purged, '/alerts', { subject: 'Look here', text: 'Something is wrong.' });
      await operator('DELETE', purged);
    });
    await service.must('DELETE', `/account/addresses/${await service.addressId(silent)}`, { token: silent.token });
    await operator('POST', silent, '/alerts', { subject: 'Nobody reads this', text: 'By email.' });
    const mail = await only(purged.email);
    expect(mail).toMatchObject({ subject: 'Look here', text: expect.stringContaining('Something is wrong.') });
    expect(linkIn(mail, 'admin/')).toBe('https://accounts.example/admin/deliveries');
    await service.ended(silent.accountId);
    expect(service.mail.at(silent.email).map(({ subject }) => subject)).toEqual(['Your address was removed']);
    expect(await service.must('GET', '/account/notifications', { token: silent.token })).toMatchObject([
      { subject: 'Nobody reads this' },
      { subject: 'Your address was removed' },
    ]);
  });

  test('is in the inbox and on its way, or neither: both belong to the transaction of the event', async () => {
    const { accountId } = await service.person();
    const notify = (end: () => void): Promise<unknown> =>
      service.dataSource.transaction(async (tx) => {
        await service.application.nest
          .get(Notifier)
          .record(tx, { type: 'alert_raised', payload: { accountId } }, [
            { accountId, kind: 'alert', data: { subject: 's', text: 't' } },
          ]);
        end();
      });
    const written = async (): Promise<unknown[]> => [
      await service.database.query('SELECT kind FROM notifications WHERE account_id = $1', [accountId]),
      (await service.deliveries(accountId)).map(({ is }) => is),
      await service.database.query(
        `SELECT type FROM deliveries.events WHERE type = 'alert_raised' AND payload->>'accountId' = $1`,
        [accountId],
      ),
    ];
    const rolledBack = new Error('rolled back');
    const givesUp = notify(() => {
      throw rolledBack;
    });
    await expect(givesUp).rejects.toBe(rolledBack);
    expect(await written()).toEqual([[], [], []]);
    await notify(() => undefined);
    expect(await written()).toEqual([[{ kind: 'alert' }], ['notification'], [{ type: 'alert_raised' }]]);
  });

  test('of an alert leads to no alerts where the application serves none', async () => {
    const sender = service.application.nest.get(EmailSender);
    const textWhere = async (dashboard: boolean): Promise<string> => {
      const pages = new PublicPages(publicUrl, dashboard);
      const tokens = new LinkTokens(service.secrets.tokenDigestKeys);
      const channel = new AccountEmailChannel(sender, service.dataSource, tokens, pages);
      const notification = { id: 'n', kind: 'alert', data: { subject: 's', text: 't' } } as const;
      const payload = { is: 'notification', to: 'ada@example.com', handle: 'ada', notification } as const;
      const message = await channel.message({ payload } as Parameters<typeof channel.message>[0]);
      return 'type' in message ? message.type : sender.compose({ id: 'd', createdAt: new Date() }, message).text;
    };
    expect(await textWhere(true)).toContain('https://accounts.example/admin/deliveries');
    expect(await textWhere(false)).toContain('https://accounts.example/inbox/n');
    expect(await textWhere(false)).not.toMatch(/admin|alerts/);
  });

  test('is stored with a copied address that goes with its delivery; operators see ids', async () => {
    const person = await service.person();
    await operator('POST', person, '/alerts', { subject: 's', text: 't' });
    const addressId = await service.addressId(person);
    const [row] = await service.database.query<{ destination: string; payload: { to: string }; event: string }>(
      `SELECT d.destination, d.payload, e.payload::text AS event
         FROM deliveries.deliveries d JOIN deliveries.events e ON e.id = d.event_id
        WHERE d.recipient->>'accountId' = $1`,
      [person.accountId],
    );
    expect(row).toMatchObject({
      destination: `account ${person.accountId}, address ${addressId}`,
      payload: { to: person.email },
    });
    expect(row!.event).not.toContain('@');
  });
});

test('no token is stored anywhere; its digest is', async () => {
  const person = await service.person();
  const id = await addAddress(person, `${person.handle}-2@example.com`);
  const recoveryId = await startRecovery(person);
  await service.ended(person.accountId);
  const tokens = [service.tokenOf('verification', id), service.tokenOf('recovery', recoveryId)];
  const tables = await service.database.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname IN ('public', 'deliveries')`,
  );
  const all = tables.map(({ name }) => `SELECT t::text AS row FROM ${name} AS t`).join(' UNION ALL ');
  const rows = await service.database.query<{ row: string }>(all);
  const holding = (text: string): boolean => rows.some(({ row }) => row.includes(text));
  for (const token of tokens) {
    expect(holding(token)).toBe(false);
    expect(holding(Buffer.from(token, 'base64url').toString('hex'))).toBe(false);
    expect(holding(tokenDigest(token).toString('hex'))).toBe(true);
  }
});

test('a token of one purpose, key or id is none of another', () => {
  const [a, b] = [newSecrets().tokenDigestKeys, newSecrets().tokenDigestKeys];
  const [tokens, others, both] = [new LinkTokens(a), new LinkTokens(b), new LinkTokens([...b, ...a])];
  const id = '01890000-0000-7000-8000-000000000000';
  const digest = tokens.digestOf('verification', id);
  const token = tokens.rebuild('verification', id, digest);
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(both.rebuild('verification', id, digest)).toBe(token);
  expect(others.rebuild('verification', id, digest)).toBeUndefined();
  expect(tokens.rebuild('recovery', id, digest)).toBeUndefined();
  expect(tokens.rebuild('verification', id.replace('8', '9'), digest)).toBeUndefined();
  const speaking = tokens.speaking('unsubscribe', id);
  expect([both, others].map((each) => each.idOf('unsubscribe', speaking))).toEqual([id, undefined]);
  expect(tokens.idOf('unsubscribe', `${speaking.slice(0, -1)}!`)).toBeUndefined();
  expect(tokens.idOf('unsubscribe', tokens.speaking('recovery', id))).toBeUndefined();
});
