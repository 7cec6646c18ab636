import type { AccountFacts } from '../../src/demo/account-facts';
import { accountTable } from '../../src/demo/account-table';
import type { Facts, StoredDelivery } from '../../src/demo/facts';
import type { Arrival } from '../../src/demo/receiver';
import { table } from '../../src/demo/table';
import { verdict } from '../../src/demo/verdict';
import type { WebhookFacts } from '../../src/demo/webhook-facts';
import { webhookTable } from '../../src/demo/webhook-table';

const stored = (handle: string, partner = 'Steady', errors: string[] = []): StoredDelivery => ({
  id: `id of ${handle} for ${partner}`,
  handle,
  partner,
  status: 'succeeded',
  attempts: errors.length + 1,
  errors,
});

let clock = 0;

const arrival = (handle: string, replica: string, status?: number, receiver = 'Steady'): Arrival => ({
  receiver,
  deliveryId: `id of ${handle} for ${receiver}`,
  handle,
  replica,
  status,
  arrivedAt: (clock += 2_000),
  answeredAt: clock,
});

const hook = (
  partner: string,
  handle: string,
  status: number,
): WebhookFacts['partners'][number]['arrivals'][number] => ({
  handle,
  status,
  id: `${handle} for ${partner}`,
  verdict: 'accepted',
});

const signed = (): WebhookFacts => ({
  partners: [
    { partner: 'Bolt', scheme: 'rullst-v1', handles: ['lise'], arrivals: [hook('Bolt', 'lise', 200)] },
    {
      partner: 'Casa',
      scheme: 'standard',
      handles: ['emmy'],
      arrivals: [hook('Casa', 'emmy', 410), hook('Casa', 'emmy', 200)],
    },
  ],
  rotation: { withOld: 'accepted', withNew: 'accepted' },
  dead: { disabledReason: 'gone', counted: 2, retried: 2 },
  inbox: [200, 200, 401],
  inboxDuplicate: true,
});

/** What the demonstration is to bring about. */
function asTold(): Facts & {
  deliveries: StoredDelivery[];
  arrivals: Arrival[];
  accounts: AccountFacts;
  webhooks: WebhookFacts;
} {
  return {
    promised: [
      { handle: 'ada', partner: 'Steady' },
      { handle: 'hedy', partner: 'Steady' },
      { handle: 'joan', partner: 'Steady' },
      { handle: 'mary', partner: 'Moody' },
    ],
    rolledBack: ['alan'],
    deliveries: [
      stored('ada'),
      stored('hedy', 'Steady', ['crashed']),
      stored('joan', 'Steady', ['crashed']),
      stored('mary', 'Moody', ['503', '429']),
    ],
    arrivals: [
      arrival('ada', 'A', 200),
      arrival('hedy', 'B', undefined),
      arrival('hedy', 'A', 200),
      arrival('joan', 'C', 200),
      arrival('joan', 'A', 200),
      arrival('mary', 'A', 503, 'Moody'),
      arrival('mary', 'A', 429, 'Moody'),
      arrival('mary', 'A', 200, 'Moody'),
    ],
    killed: 'hedy',
    frozen: 'joan',
    leaseLost: 1,
    retryAfter: 2_000,
    accounts: {
      signUp: { address: 'rosa@work.example', links: 1, verified: true },
      recovery: { addresses: ['a@example.com', 'b@example.com'], notices: ['b@example.com', 'a@example.com'] },
      announcement: {
        recipients: 10,
        optedOut: 2,
        mailboxes: 8,
        copies: 8,
        unwanted: 0,
        sent: 8,
        skipped: 2,
        overtaken: 5,
      },
      logout: [
        { party: 'Shop', hasTokens: true, verdicts: ['accepted'] },
        { party: 'News', hasTokens: false, verdicts: [] },
      ],
    },
    webhooks: signed(),
  };
}

describe('the verdict of the demonstration', () => {
  it('has nothing to say when all went as told', () => {
    expect(verdict(asTold())).toEqual([]);
  });

  type Told = ReturnType<typeof asTold>;
  const change = (index: number, changes: Partial<Arrival>) => (all: Told) => {
    all.arrivals[index] = { ...all.arrivals[index]!, ...changes };
  };

  const accounts =
    <Act extends 'signUp' | 'recovery' | 'announcement'>(act: Act, changes: Partial<AccountFacts[Act]>) =>
    (told: Told): void => {
      told.accounts = { ...told.accounts, [act]: { ...told.accounts[act], ...changes } };
    };
  const logout = (index: number, verdicts: string[]) => (told: Told) => {
    const changed = told.accounts.logout.map((each, at) => (at === index ? { ...each, verdicts } : each));
    told.accounts = { ...told.accounts, logout: changed };
  };

  const webhooks =
    (changes: Partial<WebhookFacts>) =>
    (all: Told): void => {
      all.webhooks = { ...all.webhooks, ...changes };
    };
  const partner = (index: number, arrivals: WebhookFacts['partners'][number]['arrivals']) =>
    webhooks({ partners: signed().partners.map((each, at) => (at === index ? { ...each, arrivals } : each)) });

  it.each<[string, (told: Told) => void, string]>([
    ['a delivery that never arrived', (told) => told.arrivals.splice(0, 1), '"ada" to Steady never arrived'],
    ['one that was never accepted', change(0, { status: 500 }), '"ada" to Steady never arrived'],
    ['one that was never recorded', (told) => told.deliveries.splice(0, 1), 'exists 0 times'],
    ['one that was recorded twice', (told) => told.deliveries.push(stored('ada')), 'exists 2 times'],
    [
      'one that arrived and is still pending',
      (told) => (told.deliveries[0] = { ...stored('ada'), status: 'pending' }),
      'is pending in the database',
    ],
    ['a rolled-back one in the database', (told) => told.deliveries.push(stored('alan')), '"alan" was rolled back'],
    [
      'a rolled-back one that arrived',
      (told) => told.arrivals.push(arrival('alan', 'A', 200)),
      'nobody committed: alan',
    ],
    ['a duplicate with another id', change(1, { deliveryId: 'another' }), 'under different ids'],
    ['an id that is not the stored one', change(0, { deliveryId: 'another' }), 'the database calls it id of ada'],
    ['a killed replica that had sent nothing', (told) => told.arrivals.splice(1, 1), '"hedy" was to be sent by two'],
    ['a frozen replica that had sent nothing', (told) => told.arrivals.splice(3, 1), '"joan" was to be sent by two'],
    ['a late outcome that was written', (told) => Object.assign(told, { leaseLost: 0 }), 'there were 0'],
    ['Retry-After ignored', (told) => Object.assign(told, { retryAfter: 2_001 }), 'left alone for 2001 ms'],
    ['no Retry-After at all', change(6, { status: 503 }), 'Nobody was asked to come back later'],
    ['a link that came twice', accounts('signUp', { links: 2 }), 'was to get one link, and got 2'],
    ['a link that did nothing', accounts('signUp', { verified: false }), 'the address is not verified'],
    [
      'an address that was not told',
      accounts('recovery', { notices: ['a@example.com'] }),
      'and was told to a@example.com.',
    ],
    [
      'a notice that came twice',
      accounts('recovery', { addresses: ['b@example.com'] }),
      'and was told to a@example.com, b',
    ],
    [
      'a reader who was left out',
      accounts('announcement', { mailboxes: 7, copies: 7 }),
      'for 8 mailboxes, and is in 7',
    ],
    ['a copy without need', accounts('announcement', { copies: 9 }), '1 copies arrived without need'],
    ['a reader who had opted out', accounts('announcement', { unwanted: 1 }), '1 who had opted out'],
    ['a wrong count', accounts('announcement', { skipped: 1 }), 'counts 8 sent and 1 skipped'],
    ['a link that waited', accounts('announcement', { overtaken: 0 }), 'was to overtake the announcement'],
    ['a logout token too many', logout(0, ['accepted', 'accepted']), 'one logout token, and got 2'],
    ['a logout token that nobody accepts', logout(0, ['expired']), 'did not accept its logout token: expired'],
    ['a logout token for a stranger', logout(1, ['accepted']), 'News has no tokens'],
    ['a webhook that never arrived', partner(0, []), 'Bolt was never told of "lise"'],
    [
      'a webhook that is not signed as it should be',
      partner(0, [{ ...hook('Bolt', 'lise', 200), verdict: 'WebhookSignatureError' }]),
      'did not accept what it was told of "lise": WebhookSignatureError',
    ],
    [
      'a webhook under two ids',
      partner(1, [hook('Casa', 'emmy', 410), { ...hook('Casa', 'emmy', 200), id: 'another' }]),
      'under two ids',
    ],
    [
      'a secret that was changed too soon',
      webhooks({ rotation: { withOld: 'WebhookVerificationError', withNew: 'accepted' } }),
      'was to be good withOld',
    ],
    [
      'a dead endpoint that nobody noticed',
      webhooks({ dead: { disabledReason: null, counted: 2, retried: 2 } }),
      'disabled as gone, and is null',
    ],
    [
      'failed webhooks that were left behind',
      webhooks({ dead: { disabledReason: 'gone', counted: 2, retried: 1 } }),
      '2 were counted, 1 sent',
    ],
    ['an inbox that takes anything', webhooks({ inbox: [200, 200, 200] }), 'answered 200, 200, 200'],
    ['an inbox that handles twice', webhooks({ inboxDuplicate: false }), 'was to take a message once'],
  ])('objects to %s', (_, spoil, objection) => {
    const told = asTold();
    spoil(told);
    expect(verdict(told)).toEqual([expect.stringContaining(objection)]);
  });

  it('is read off a table of at most 100 columns', () => {
    const lines = table(asTold());
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['ACCOUNT', 'PARTNER', 'DELIVERY', 'ATTEMPTS', 'WHAT EACH CAME TO', 'SENT BY', 'SEEN'],
      ['ada', 'Steady', 'r Steady', '1', 'ok', 'A', 'once'],
      ['hedy', 'Steady', 'r Steady', '2', 'crashed, ok', 'B, A', '2x, one id'],
      ['joan', 'Steady', 'r Steady', '2', 'crashed, ok', 'C, A', '2x, one id'],
      ['mary', 'Moody', 'or Moody', '3', '503, 429, ok', 'A', '3x, one id'],
      ['alan', '-', 'none', '-', 'rolled back, so there never was one', '-', 'never'],
    ]);
  });

  it('has a table for signed webhooks', () => {
    const lines = webhookTable(signed());
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(lines.slice(0, -1).map((line) => line.split(/ {2,}/))).toEqual([
      ['PARTNER', 'SIGNED BY', 'ACCOUNT', 'WHAT IT ANSWERED', 'ITS VERIFIER SAYS'],
      ['Bolt', 'rullst-v1', 'lise', '200', 'accepted'],
      ['Casa', 'standard', 'emmy', '410, then 200', 'accepted'],
    ]);
    expect(lines.at(-1)).toContain('accepted with the old one, accepted with the new');
  });

  it('has a second table for what was emailed and told', () => {
    const lines = accountTable(asTold().accounts);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['MESSAGE', 'FOR', 'ARRIVED'],
      ['verification link', 'rosa@work.example', 'once; followed'],
      ['notice of a recovery', 'a@example.com', 'once'],
      ['notice of a recovery', 'b@example.com', 'once'],
      ['announcement', '8 of 10 accounts', '8 emails; 2 had opted out'],
      ['verification link', 'one that was asked for meanwhile', 'before 5 announcements'],
      ['logout token', 'Shop', 'accepted'],
      ['logout token', 'News, which has no tokens', 'none'],
    ]);
  });
});
