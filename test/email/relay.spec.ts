import { createTestCa, type TestCa } from '../../src/demo/certificates';
import { readRelayUrl } from '../../libs/email/src/relay/relay-url';
import { outcomeOfReceipt } from '../../libs/email/src/relay/outcome-of';
import { Relay } from '../../libs/email/src/relay/relay';
import type { Message } from '../../libs/email/src/compose/message';
import type { SMTPServerOptions } from 'smtp-server';
import { until } from '../faults/support/facts';
import { withEnvironment } from '../outbound-http/environment';
import { startRawRelay, steps, type RawRelay, type Step } from './support/raw-relay';
import { reply, replyText, startRelay, type TestRelay } from './support/relay';

const message: Message = {
  from: { name: 'Example Shop', address: 'hello@shop.example' },
  to: 'ada@example.com',
  subject: 'Grüße, Ada',
  text: 'Hello.\n.\nA line with a dot alone is before this one.\n',
  html: '<p>Hello.</p>\n',
  messageId: '<0190-1@shop.example>',
  date: new Date('2026-01-02T03:04:05Z'),
  boundary: '0190-1',
  headers: { 'Auto-Submitted': 'auto-generated' },
};

const closing: (() => unknown)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

interface RelayOptions {
  readonly scheme?: 'smtp' | 'smtps';
  readonly host?: string;
  readonly login?: boolean;
  readonly requireTls?: boolean;
  readonly ca?: string;
  readonly connections?: number;
}

function clientOf(port: number, options: RelayOptions = {}): Relay {
  const { scheme = 'smtp', host = '127.0.0.1', login = false, requireTls = false, ca, connections = 2 } = options;
  const relay = readRelayUrl(`${scheme}://${login ? 'user:pass%3Aword@' : ''}${host}:${port}`);
  const client = new Relay({ relay, requireTls, ca, connections, timeout: 2_000 });
  closing.push(() => client.close());
  return client;
}

async function raw(...given: Parameters<typeof startRawRelay>): Promise<RawRelay> {
  const relay = await startRawRelay(...given);
  closing.push(() => relay.close());
  return relay;
}

async function real(...given: Parameters<typeof startRelay>): Promise<TestRelay> {
  const relay = await startRelay(...given);
  closing.push(() => relay.close());
  return relay;
}

const never = new AbortController().signal;

const codes = [421, 450, 451, 452, 530, 534, 535, 550, 552, 554];

describe('what a reply means', () => {
  const fails = [550, 552, 554];
  const speaking = steps.filter((step) => step !== 'STARTTLS');

  it.each(codes)('%i at each step: its code is the outcome, and its text is nowhere', async (code) => {
    const outcomes = await Promise.all(
      speaking.map(async (step) => {
        const relay = await raw({ [step]: code });
        const result = await clientOf(relay.port, { login: true }).send(message, never);
        expect(JSON.stringify(result)).not.toContain('CANARY');
        return [step, result, relay.messages.length];
      }),
    );
    const outcome = fails.includes(code) ? { type: 'failed', kind: `${code}` } : { type: 'retry', kind: `${code}` };
    const aboutLogin = [530, 534, 535].includes(code);
    const expected = speaking.map((step) => [
      step,
      { outcome, loginRejected: aboutLogin && !['RCPT', 'DATA', 'dot'].includes(step) },
      step === 'dot' ? 1 : 0,
    ]);
    expect(outcomes).toEqual(expected);
  });

  it('250 at each step: a success is one copy, and where 250 is no answer there is neither', async () => {
    const outcomes = await Promise.all(
      speaking.map(async (step) => {
        const relay = await raw({ [step]: 250 });
        const { outcome } = await clientOf(relay.port, { login: true }).send(message, never);
        return [step, outcome.type, relay.messages.length];
      }),
    );
    // A greeting is 220 (RFC 5321, section 4.3.2), and DATA is answered with 354 before there is a message.
    expect(outcomes).toEqual(
      speaking.map((step) => (['greeting', 'DATA'].includes(step) ? [step, 'retry', 0] : [step, 'succeeded', 1])),
    );
  });

  it('250: one copy, whole, with the headers that it was given', async () => {
    const relay = await real();
    const signal = new AbortController().signal;
    expect(await clientOf(relay.port).send(message, signal)).toEqual({
      outcome: { type: 'succeeded' },
      loginRejected: false,
    });
    const [copy, ...others] = relay.received('ada@example.com');
    expect(others).toEqual([]);
    const [head = '', body = ''] = copy!.split(/\r?\n\r?\n(.*)/s);
    // Long headers go on in lines that begin with a space.
    expect(new Set(head.split(/\r?\n(?! |\t)/))).toEqual(
      new Set([
        'Auto-Submitted: auto-generated',
        expect.stringMatching(/^Content-Type: multipart\/alternative;\s+boundary="[^"]*0190-1[^"]*"$/),
        'Date: Fri, 02 Jan 2026 03:04:05 +0000',
        'From: Example Shop <hello@shop.example>',
        'Message-ID: <0190-1@shop.example>',
        'MIME-Version: 1.0',
        'Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe=2C_Ada?=',
        'To: ada@example.com',
      ]),
    );
    expect(body).toContain('\r\n.\r\nA line with a dot alone');
  });

  it('sends the same bytes each time', async () => {
    const relay = await real();
    const client = clientOf(relay.port);
    await client.send(message, never);
    await client.send(message, never);
    const [first, second] = relay.received('ada@example.com');
    expect(second).toBe(first);
  });

  it('keeps a session for the next message, and goes on in it after a recipient was refused', async () => {
    const relay = await real({
      onLogin: () => undefined,
      onRecipient: (recipient) => (recipient.startsWith('gone') ? 550 : undefined),
    });
    const client = clientOf(relay.port, { login: true, connections: 1 });
    const outcomes: unknown[] = [];
    for (const to of ['ada@example.com', 'gone@example.com', 'bob@example.com']) {
      outcomes.push((await client.send({ ...message, to }, never)).outcome);
    }
    expect(outcomes).toEqual([{ type: 'succeeded' }, { type: 'failed', kind: '550' }, { type: 'succeeded' }]);
    expect(relay.logins).toBe(1);
  });
});

describe('what is no reply', () => {
  const speaking = steps.filter((step) => step !== 'STARTTLS');

  it('silence, or words without end, at each step: over when the attempt is, and so is the session', async () => {
    const relays = await Promise.all(speaking.flatMap((step) => [raw({ [step]: 'silence' }), raw({ [step]: 'drip' })]));
    const began = performance.now();
    const results = await Promise.all(
      relays.map(({ port }) => clientOf(port, { login: true }).send(message, AbortSignal.timeout(400))),
    );
    expect(performance.now() - began).toBeLessThan(10_000);
    await until('no session is left', () => relays.every(({ sessions }) => sessions === 0));
    expect(new Set(results.map(({ outcome }) => JSON.stringify(outcome)))).toEqual(
      new Set(['{"type":"retry","kind":"timeout"}']),
    );
  });

  it.each(['reset', 'close'] as const)('a session that ends by %s at any step is a retry', async (behaviour) => {
    const results = await Promise.all(
      speaking.map(async (step): Promise<[Step, unknown, number]> => {
        const relay = await raw({ [step]: behaviour });
        const { outcome } = await clientOf(relay.port, { login: true }).send(message, never);
        expect(relay.opened).toBe(1);
        return [step, outcome, relay.messages.length];
      }),
    );
    const kind = behaviour === 'reset' ? 'ECONNRESET' : 'ECONNECTION';
    expect(results).toEqual(speaking.map((step) => [step, { type: 'retry', kind }, step === 'dot' ? 1 : 0]));
  });

  it('a message is given to the relay once for each attempt, also when the relay drops it after the final dot', async () => {
    const relay = await raw({ dot: 'close' });
    const client = clientOf(relay.port);
    await client.send(message, never);
    await client.send(message, never);
    expect(relay.messages).toHaveLength(2);
    relay.behaviours.delete('dot');
    expect((await client.send(message, never)).outcome).toEqual({ type: 'succeeded' });
    expect(relay.messages).toHaveLength(3);
  });

  it('nobody there: the platform’s name for it', async () => {
    const relay = await startRawRelay();
    await relay.close();
    const client = clientOf(relay.port);
    expect((await client.send(message, never)).outcome).toEqual({ type: 'retry', kind: 'ECONNREFUSED' });
    expect(await client.verify()).toEqual({ reached: false, loginRejected: false, reason: 'ECONNREFUSED' });
  });

  it('an attempt that is over before it begins opens no session', async () => {
    const relay = await raw();
    expect((await clientOf(relay.port).send(message, AbortSignal.abort())).outcome).toEqual({
      type: 'retry',
      kind: 'timeout',
    });
    expect(relay.commands).toEqual([]);
  });
});

it.each([
  [{ accepted: ['ada@example.com'], rejected: [] }, { type: 'succeeded' }],
  [
    { accepted: ['ada@example.com'], rejected: ['bob@example.com'] },
    { type: 'failed', kind: 'partly_accepted' },
  ],
  [
    { accepted: ['ada@example.com', 'bob@example.com'], rejected: [] },
    { type: 'failed', kind: 'partly_accepted' },
  ],
  [
    { accepted: [], rejected: ['ada@example.com'] },
    { type: 'failed', kind: 'partly_accepted' },
  ],
  [{}, { type: 'failed', kind: 'partly_accepted' }],
])('BL-070: %j from the mailer is %j', (receipt, outcome) => {
  expect(outcomeOfReceipt(receipt)).toEqual(outcome);
});

describe('TLS', () => {
  let ca: TestCa;
  let good: Pick<SMTPServerOptions, 'key' | 'cert'>;

  beforeAll(async () => {
    ca = await createTestCa();
    good = await issue(['localhost', '127.0.0.1']);
  });

  async function issue(hosts: string[], dates: { notAfter?: Date } = {}) {
    const { certificate, key } = await ca.issue({ hosts, ...dates });
    return { key, cert: certificate };
  }

  const trusting = (options: RelayOptions = {}): RelayOptions => ({
    login: true,
    requireTls: true,
    ca: ca.certificate,
    host: 'localhost',
    ...options,
  });
  const onlySecure: SMTPServerOptions = { allowInsecureAuth: false };

  it.each(['smtp', 'smtps'] as const)('%s: logs in and sends over TLS only', async (scheme) => {
    const passwords: string[] = [];
    const relay = await real(
      { onLogin: (user, password) => void passwords.push(`${user} ${password}`) },
      { ...onlySecure, ...good, secure: scheme === 'smtps' },
    );
    const client = clientOf(relay.port, trusting({ scheme }));
    expect((await client.send(message, never)).outcome).toEqual({ type: 'succeeded' });
    expect(await client.verify()).toEqual({ reached: true });
    expect(passwords).toEqual(['user pass:word', 'user pass:word']);
  });

  it('STARTTLS taken out of the offer: nothing is said in the clear, and the delivery waits', async () => {
    const relay = await raw();
    const { outcome } = await clientOf(relay.port, trusting()).send(message, never);
    expect(outcome).toEqual({ type: 'retry', kind: 'starttls:502' });
    expect(relay.commands).toEqual(['EHLO', 'STARTTLS']);
  });

  it.each([...codes, 454, 501])(
    'STARTTLS refused with %i is a retry: it says nothing about the message',
    async (code) => {
      const relay = await raw({ STARTTLS: code });
      const { outcome } = await clientOf(relay.port, trusting()).send(message, never);
      expect(outcome).toEqual({ type: 'retry', kind: `starttls:${code}` });
    },
  );

  it.each([
    ['from an authority that nobody trusts', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', {}],
    ['for another name', 'ERR_TLS_CERT_ALTNAME_INVALID', { hosts: ['other.example'] }],
    ['that is over', 'CERT_HAS_EXPIRED', { notAfter: new Date(Date.now() - 1_000) }],
  ])('a certificate %s is a retry as %s, whatever NODE_TLS_REJECT_UNAUTHORIZED says', async (_what, kind, options) => {
    const { hosts = ['localhost'], ...dates } = options as { hosts?: string[]; notAfter?: Date };
    const certificate = await issue(hosts, dates);
    const trusted = kind === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' ? (await createTestCa()).certificate : ca.certificate;
    await withEnvironment({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, async () => {
      for (const scheme of ['smtp', 'smtps'] as const) {
        const relay = await real({ onLogin: () => undefined }, { ...certificate, secure: scheme === 'smtps' });
        const { outcome } = await clientOf(relay.port, trusting({ scheme, ca: trusted })).send(message, never);
        expect(outcome).toEqual({ type: 'retry', kind });
        expect(relay.logins).toBe(0);
      }
    });
  });

  it('a relay on loopback is spoken to in the clear where TLS is not required', async () => {
    const relay = await real({}, await issue(['other.example']));
    expect((await clientOf(relay.port).send(message, never)).outcome).toEqual({ type: 'succeeded' });
  });
});

describe('a login', () => {
  it('is told from everything else by a probe', async () => {
    let code: number | undefined = 535;
    const relay = await real({ onLogin: () => code });
    const client = clientOf(relay.port, { login: true });
    expect(await client.verify()).toEqual({ reached: false, loginRejected: true, reason: '535' });
    code = 454;
    expect(await client.verify()).toEqual({ reached: false, loginRejected: false, reason: '454' });
    code = undefined;
    expect(await client.verify()).toEqual({ reached: true });
    expect(relay.mailboxes.size).toBe(0);
    expect(reply(535).message).toBe(replyText);
  });
});
