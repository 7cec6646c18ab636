import { Client } from 'pg';
import type { Mail } from '../../src/demo/mail';
import { LinkTokens } from '../../src/links/link-tokens';
import { gate, until } from '../faults/support/facts';
import { Service, type Person } from './support/service';

let service: Service;

beforeAll(async () => {
  service = await Service.start();
});

afterAll(() => service?.close());

interface Progress {
  readonly id: string;
  readonly recipients: number;
  readonly emails: number;
  readonly pending: number;
  readonly sent: number;
  readonly skipped: number;
  readonly failed: number;
  readonly removed: number;
}

let subjects = 0;
const announce = async (essential = false): Promise<Progress & { subject: string }> => {
  const subject = `Announcement ${(subjects += 1)}`;
  const body = { subject, text: 'First.\n\nSecond.', essential };
  return { ...(await service.must<Progress>('POST', '/admin/announcements', { token: 'operator', body })), subject };
};
const finished = (id: string): Promise<Progress> =>
  until(`announcement ${id} is finished`, async () => {
    const progress = await service.must<Progress>('GET', `/admin/announcements/${id}`, { token: 'operator' });
    return progress.pending === 0 && progress;
  });
const operator = (method: string, person: Person, what = '') =>
  service.must(method, `/admin/accounts/${person.accountId}${what}`, { token: 'operator' });
const prefer = (person: Person, announcementsByEmail: boolean) =>
  service.must('PUT', '/account/preferences', { token: person.token, body: { announcementsByEmail } });
const preference = async ({ token }: Person): Promise<boolean> => {
  const { announcementsByEmail } = await service.must<{ announcementsByEmail: boolean }>(
    'GET',
    '/account/preferences',
    { token },
  );
  return announcementsByEmail;
};
const removeAddress = async (person: Person) =>
  service.must('DELETE', `/account/addresses/${await service.addressId(person)}`, { token: person.token });
const mailsOf = (subject: string): Mail[] => service.mail.arrivals.filter((mail) => mail.subject === subject);
const recipientsOf = (subject: string): string[] =>
  mailsOf(subject)
    .map(({ to }) => to)
    .toSorted();
/** What became of its delivery to an account. */
const became = async ({ accountId }: Person): Promise<string | null | undefined> =>
  (await service.deliveries(accountId)).filter(({ channel }) => channel === 'announcement').at(-1)?.why;
const purgeAll = async (): Promise<void> => {
  for (const { id } of await service.database.query<{ id: string }>('SELECT id FROM accounts')) {
    await service.must('DELETE', `/admin/accounts/${id}`, { token: 'operator' });
  }
};

afterEach(purgeAll);

test('reaches every inbox, and by email those who have an address and want it; an essential one also who does not', async () => {
  const [wants, not, silent, disabled] = [
    await service.person(),
    await service.person(),
    await service.person(),
    await service.person(),
  ];
  await prefer(not, false);
  await removeAddress(silent);
  await operator('POST', disabled, '/disable');
  const usual = await announce();
  const essential = await announce(true);
  expect(usual).toMatchObject({ recipients: 3, emails: 1 });
  expect(essential).toMatchObject({ recipients: 3, emails: 2 });
  expect(await finished(usual.id)).toMatchObject({ sent: 1, skipped: 0, failed: 0, removed: 0 });
  expect(await finished(essential.id)).toMatchObject({ sent: 2, skipped: 0, failed: 0, removed: 0 });
  expect(recipientsOf(usual.subject)).toEqual([wants.email]);
  expect(recipientsOf(essential.subject)).toEqual([wants.email, not.email].toSorted());
  for (const { token } of [wants, not, silent]) {
    const inbox = await service.must<{ kind: string; subject: string; text: string }[]>(
      'GET',
      '/account/notifications',
      { token },
    );
    expect(inbox.filter(({ kind }) => kind === 'announcement').map(({ subject, text }) => [subject, text])).toEqual([
      [essential.subject, 'First.\n\nSecond.'],
      [usual.subject, 'First.\n\nSecond.'],
    ]);
  }
  // On a channel of its own, with ids in the place of an address and of the text.
  const [row] = await service.database.query(
    `SELECT channel, destination, recipient, payload FROM deliveries.deliveries
      WHERE channel = 'announcement' AND recipient->>'accountId' = $1 AND payload->>'announcementId' = $2`,
    [wants.accountId, usual.id],
  );
  expect(row).toEqual({
    channel: 'announcement',
    destination: `account ${wants.accountId}, announcement ${usual.id}`,
    recipient: { accountId: wants.accountId },
    payload: { announcementId: usual.id },
  });
  const emailed = (await service.deliveries(wants.accountId)).filter(({ channel }) => channel === 'email');
  expect(emailed).toEqual([]);
});

test('is sent to whom it concerns when it is sent, at the address of that moment', async () => {
  const [moves, silent, disabled, not, purged] = [
    await service.person(),
    await service.person(),
    await service.person(),
    await service.person(),
    await service.person(),
  ];
  const elsewhere = `${moves.handle}-2@example.com`;
  const second = await service.verifiedAddress(moves, elsewhere);
  const [usual, essential] = await service.holding('announcement', async () => {
    const both = [await announce(), await announce(true)] as const;
    await service.must('POST', `/account/addresses/${second}/primary`, { token: moves.token });
    await removeAddress(silent);
    await operator('POST', disabled, '/disable');
    await prefer(not, false);
    await operator('DELETE', purged);
    return both;
  });
  expect(await finished(usual.id)).toMatchObject({ emails: 5, sent: 1, skipped: 3, failed: 0, removed: 1 });
  expect(recipientsOf(usual.subject)).toEqual([elsewhere]);
  expect(await finished(essential.id)).toMatchObject({ emails: 5, sent: 2, skipped: 2, failed: 0, removed: 1 });
  expect(recipientsOf(essential.subject)).toEqual([elsewhere, not.email].toSorted());
  expect(await became(silent)).toBe('no_address');
  expect(await became(disabled)).toBe('not_a_recipient');
  const [optedOut] = await service.deliveries(not.accountId);
  expect(optedOut).toMatchObject({ status: 'succeeded', why: 'opted_out' });
  expect((await service.deliveries(purged.accountId)).filter(({ channel }) => channel === 'announcement')).toEqual([]);
});

test('leads to the inbox; one that is not essential carries the one-click link, whose GET changes nothing', async () => {
  const person = await service.person();
  const [usual, essential] = [await announce(), await announce(true)];
  await Promise.all([finished(usual.id), finished(essential.id)]);
  const [mail] = mailsOf(usual.subject);
  const [vital] = mailsOf(essential.subject);
  expect(mail!.text).toContain('https://accounts.example/inbox\n');
  const link = `https://accounts.example/unsubscribe/${new LinkTokens(service.secrets.tokenDigestKeys).speaking('unsubscribe', person.accountId)}`;
  expect(mail!.headers.get('list-unsubscribe')).toBe(`<${link}>`);
  expect(mail!.headers.get('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
  expect(mail!.text).toContain(link);
  expect(mail!.html).toContain(link);
  expect([...vital!.headers.keys()].filter((name) => name.startsWith('list-'))).toEqual([]);
  expect(vital!.text).not.toContain('unsubscribe');

  const { pathname } = new URL(link);
  const page = await service.call<string>('GET', pathname);
  expect(page).toMatchObject({ status: 200, body: expect.stringContaining('<form method="post">') });
  expect((await fetch(service.application.url + pathname, { method: 'HEAD' })).status).toBe(200);
  expect(await preference(person)).toBe(true);
  expect((await service.call('POST', pathname.slice(0, -1))).status).toBe(404);
  expect(await preference(person)).toBe(true);
  const click = await fetch(service.application.url + pathname, {
    method: 'POST',
    body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
    redirect: 'error',
  });
  expect(click.status).toBe(200);
  expect(await preference(person)).toBe(false);
});

test('locks its recipients: whoever is disabled or purged meanwhile waits for it, and no delivery is overlooked', async () => {
  const [disabled, purged] = [await service.person(), await service.person()];
  const waiting = (like: string) =>
    service.database.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`,
      [like],
    );
  const holder = new Client({ connectionString: service.database.url });
  await holder.connect();
  try {
    const { id } = await service.holding('announcement', async () => {
      // Read by the fan-out, after the recipients were locked.
      await holder.query('BEGIN; LOCK TABLE addresses IN ACCESS EXCLUSIVE MODE');
      const announced = announce();
      await until('the fan-out waits', async () => (await waiting('%WITH source AS%')).length > 0);
      const changed = Promise.all([operator('POST', disabled, '/disable'), operator('DELETE', purged)]);
      await until('the disabling waits', async () => (await waiting('UPDATE accounts SET status%')).length > 0);
      await until('the purge waits', async () => (await waiting('SELECT id FROM accounts%FOR UPDATE')).length > 0);
      await holder.query('ROLLBACK');
      const [progress] = await Promise.all([announced, changed]);
      return progress;
    });
    expect(await finished(id)).toMatchObject({ recipients: 2, emails: 2, sent: 0, skipped: 1, removed: 1 });
    expect(await became(disabled)).toBe('not_a_recipient');
  } finally {
    await holder.end();
  }
});

test('is tried for three days, and not after', async () => {
  const person = await service.person();
  let tries = 0;
  service.mail.behave(() => ((tries += 1), 451));
  const { id } = await announce();
  const made = (ago: string) =>
    until(`it is told that it was made ${ago} ago`, async () => {
      const rows = await service.database.query(
        `UPDATE deliveries.deliveries SET created_at = clock_timestamp() - $1::interval, due_at = clock_timestamp()
          WHERE recipient->>'accountId' = $2 AND claim_token IS NULL AND attempts > 0 RETURNING id`,
        [ago, person.accountId],
      );
      return rows.length === 1;
    });
  await made('2 days 23 hours 59 minutes');
  const before = tries;
  await until('it is tried again', () => tries > before);
  await made('3 days');
  expect(await finished(id)).toMatchObject({ sent: 0, failed: 1 });
  service.mail.behave(() => undefined);
  const [row] = await service.database.query(
    `SELECT last_error FROM deliveries.deliveries WHERE recipient->>'accountId' = $1`,
    [person.accountId],
  );
  expect(row).toEqual({ last_error: 'expired' });
});

test('is never changed once it was sent', async () => {
  await service.person();
  const { id } = await announce();
  for (const column of ['subject', 'text', 'essential']) {
    const change = service.database.query(`UPDATE announcements SET ${column} = ${column} WHERE id = $1`, [id]);
    await expect(change).rejects.toThrow('What was announced is not changed');
  }
  await finished(id);
});

test('is for operators to send, and says what is wrong with one', async () => {
  const { token } = await service.person();
  const body = { subject: 'Hello', text: 'You', essential: false };
  const answers = await Promise.all([
    service.call('POST', '/admin/announcements', { body }),
    service.call('POST', '/admin/announcements', { token, body }),
    service.call('POST', '/admin/announcements', {
      token: 'operator',
      body: { ...body, subject: 'Hello\r\nBcc: you@example.com' },
    }),
    service.call('POST', '/admin/announcements', { token: 'operator', body: { ...body, text: '' } }),
    service.call('POST', '/admin/announcements', { token: 'operator', body: { ...body, essential: 'no' } }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 400, 400, 400]);
});

describe('to many', () => {
  const many = 1_000;
  const handles = Array.from({ length: many }, (_, index) => `one-of-many-${index}`);
  const move = (some: readonly string[]) =>
    service.must('POST', '/admin/accounts/move', {
      token: 'operator',
      body: { accounts: some.map((handle) => ({ handle, email: `${handle}@example.com` })) },
    });

  /** The statements of one announcement, without what its own answer reads. */
  async function statements(): Promise<string[]> {
    const { logger } = service.dataSource;
    const seen: string[] = [];
    const spy = jest.spyOn(logger, 'logQuery').mockImplementation((query) => void seen.push(query));
    await announce();
    spy.mockRestore();
    return seen.slice(seen.indexOf('START TRANSACTION'), seen.indexOf('COMMIT') + 1);
  }

  afterEach(async () => {
    // In one statement in the place of a thousand purges.
    await service.database.query('DELETE FROM accounts');
  });

  test('costs as many statements as to one, and does not hold up a link', async () => {
    const held = gate();
    service.mail.behave((mail) => (mail.subject.startsWith('Announcement') ? held.passed : undefined));
    try {
      await move(handles.slice(0, 1));
      const forOne = await statements();
      await move(handles.slice(1));
      const forMany = await statements();
      expect(forMany.length).toBe(forOne.length);
      expect(forMany.length).toBeLessThan(12);
      expect(forMany.filter((statement) => /INSERT INTO "?deliveries"?\."?deliveries"?/.test(statement))).toHaveLength(
        1,
      );
      const [{ waiting }] = (await service.database.query(
        `SELECT count(*)::integer AS waiting FROM deliveries.deliveries WHERE channel = 'announcement' AND status = 'pending'`,
      )) as [{ waiting: number }];
      expect(waiting).toBe(many + 1);
      // Every slot for announcements is taken by a relay that takes its time; a link does not notice.
      await service.must('POST', '/accounts', { body: { handle: 'in-a-hurry', email: 'in-a-hurry@example.com' } });
      await until('the link has overtaken them', () => service.mail.at('in-a-hurry@example.com').length === 1);
      expect(service.mail.arrivals.some(({ to }) => to.startsWith('one-of-many'))).toBe(false);
    } finally {
      await service.operations.cancelMatching({ channel: 'announcement' }, { actor: 'test' });
      service.mail.behave(() => undefined);
      held.open();
    }
  });
});
