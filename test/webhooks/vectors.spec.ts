import crypto from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import {
  signStandard,
  StandardPrivateKey,
  StandardPublicKey,
  StandardSecret,
  verifyStandard,
  WebhookClockError,
  WebhookInputError,
  WebhookSignature,
  WebhookSignatureError,
  WebhookSigningKey,
} from 'nest-deliveries/webhooks';
import vectors from './cases/vectors.json';

const { rullst, rullst_negative: refused, standard_webhooks: standard, standard_webhooks_negative: mistaken } = vectors;
type RawHeaders = readonly (readonly string[])[];

const bytesOf = (base64: string): Buffer => Buffer.from(base64, 'base64');
const flat = (pairs: RawHeaders): string[] => pairs.flat();
const named = (number: number): (typeof rullst.vectors)[number] => rullst.vectors.find(({ n }) => n === number)!;

/** What a call throws; undefined when it does not. */
function thrownBy(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('rullst-v1', () => {
  test.each(rullst.vectors)('$n: $name', (vector) => {
    const key = new WebhookSigningKey(vector.key_id, vector.key_base64url);
    const body = bytesOf(vector.body_base64);
    const { id, kind, timestamp, headers } = vector;
    const signed = key.sign({ id, kind, timestamp, body });
    expect({ 'Content-Type': 'application/json', ...signed }).toEqual(headers);
    const signature = WebhookSignature.fromRawHeaders(Object.entries(headers).flat());
    // The vector that no legal clock can verify says so itself.
    const clock = Math.min(timestamp, 253_401_695_999) * 1_000;
    const verify = (): void => key.verify(signature, body, clock, 300);
    expect(thrownBy(verify) === undefined).toBe(!vector.name.includes('no legal clock'));
  });

  test.each(refused.headers)('refused: $name', (vector) => {
    const key = new WebhookSigningKey(
      refused.key_id,
      (vector as { verify_key?: string }).verify_key ?? refused.key_base64url,
    );
    const changed = (vector as { body_utf8?: string }).body_utf8;
    const body = changed === undefined ? bytesOf(named(refused.over_vector).body_base64) : Buffer.from(changed);
    const parse = (): WebhookSignature => WebhookSignature.fromRawHeaders(flat(vector.raw_headers));
    expect(thrownBy(parse) === undefined).toBe(vector.stage === 'verify');
    expect(() => key.verify(parse(), body, refused.clock_ms, refused.max_skew_s)).toThrow(WebhookSignatureError);
  });

  test.each(refused.skew)('skew: $name', ({ now_ms, max_skew_s, expect: expected }) => {
    const vector = named(refused.over_vector);
    const key = new WebhookSigningKey(vector.key_id, vector.key_base64url);
    const signature = WebhookSignature.fromRawHeaders(Object.entries(vector.headers).flat());
    const thrown = thrownBy(() => key.verify(signature, bytesOf(vector.body_base64), now_ms, max_skew_s));
    const classes: Record<string, unknown> = {
      accept: undefined,
      InvalidSignature: WebhookSignatureError,
      Clock: WebhookClockError,
      'InvalidInput(signature skew)': WebhookInputError,
    };
    expect(expected in classes).toBe(true);
    expect((thrown as object | undefined)?.constructor).toBe(classes[expected]);
  });

  test.each(refused.keys)('key: $name', ({ key_id, encoded, expect: expected }) => {
    const make = (): WebhookSigningKey => new WebhookSigningKey(key_id, encoded);
    const { code, subject } = Object(thrownBy(make)) as Partial<WebhookInputError>;
    expect(code === undefined ? 'live' : `InvalidInput(${subject})`).toBe(expected);
  });

  test('an empty or mock_ credential makes an offline key, which verifies nothing, not even what it signed', () => {
    for (const encoded of ['', 'mock_', 'mock_receiver', `mock_${'x'.repeat(123)}`]) {
      const key = new WebhookSigningKey('k', encoded);
      expect(key.offline).toBe(true);
      const message = { id: `msg_${'0'.repeat(32)}`, kind: 'a', timestamp: 1_800_000_000, body: Buffer.from('{}') };
      const signature = WebhookSignature.fromRawHeaders(Object.entries(key.sign(message)).flat());
      expect(() => key.verify(signature, message.body, 1_800_000_000_000, 300)).toThrow(WebhookSignatureError);
    }
    expect(() => new WebhookSigningKey('k', `mock_${'x'.repeat(124)}`)).toThrow(WebhookInputError);
    expect(() => new WebhookSigningKey('k', 'mock_\n')).toThrow(WebhookInputError);
  });

  test('a key verifies nothing that names another key, be it with the same bytes', () => {
    const bytes = crypto.randomBytes(32).toString('base64url');
    const key = new WebhookSigningKey('k', bytes);
    const message = { id: `msg_${'0'.repeat(32)}`, kind: 'a', timestamp: 1_800_000_000, body: Buffer.from('{}') };
    const verify = (headers: object, by: WebhookSigningKey): void =>
      by.verify(WebhookSignature.fromRawHeaders(Object.entries(headers).flat()), message.body, 1_800_000_000_000, 300);
    expect(() => verify(key.sign(message), key)).not.toThrow();
    expect(() => verify({ ...key.sign(message), 'Rullst-Webhook-Key-Id': 'other' }, key)).toThrow(
      WebhookSignatureError,
    );
    expect(() => verify(key.sign(message), new WebhookSigningKey('other', bytes))).toThrow(WebhookSignatureError);
  });

  test('a clock too late for a whole delivery window before the year 10000 verifies nothing', () => {
    const key = new WebhookSigningKey('k', crypto.randomBytes(32).toString('base64url'));
    const last = 253_401_695_999;
    const message = { id: `msg_${'0'.repeat(32)}`, kind: 'a', timestamp: last, body: Buffer.from('{}') };
    const signature = WebhookSignature.fromRawHeaders(Object.entries(key.sign(message)).flat());
    const verifyAt = (seconds: number): void => key.verify(signature, message.body, seconds * 1_000, 300);
    expect(() => verifyAt(last)).not.toThrow();
    expect(() => verifyAt(last + 1)).toThrow(WebhookClockError);
  });

  test('event keys and fingerprints', () => {
    for (const { key_base64url, namespace, event_key, tag_base64url } of rullst.event_key_tags) {
      expect(new WebhookSigningKey('k', key_base64url).eventKeyTag(namespace, event_key)).toBe(tag_base64url);
    }
    for (const { key_base64url, fingerprint_hex } of rullst.key_fingerprints) {
      expect(new WebhookSigningKey('k', key_base64url).fingerprint()).toBe(fingerprint_hex);
    }
  });
});

describe('Standard Webhooks', () => {
  const soon = (timestamp: number): number => timestamp * 1_000;

  test.each(standard.v1)('v1 $n: $name', (vector) => {
    const { id, timestamp, headers } = vector;
    const body = bytesOf(vector.body_base64);
    const secret = new StandardSecret(vector.secret);
    expect(signStandard([secret], { id, timestamp, body })).toEqual(headers);
    expect(verifyStandard([secret], Object.entries(headers).flat(), body, soon(timestamp), 300)).toEqual({
      id,
      timestamp,
    });
  });

  test.each(standard.v1a)('v1a $n: $name', (vector) => {
    const { id, timestamp, headers } = vector;
    const body = bytesOf(vector.body_base64);
    for (const text of [vector.secret_whsk_seed, vector.secret_whsk_seed_and_public]) {
      const key = new StandardPrivateKey(text);
      expect(key.publicKey).toBe(vector.public_whpk);
      expect(signStandard([key], { id, timestamp, body })).toEqual(headers);
    }
    const key = new StandardPublicKey(vector.public_whpk);
    expect(verifyStandard([key], Object.entries(headers).flat(), body, soon(timestamp), 300)).toEqual({
      id,
      timestamp,
    });
  });

  test('a binary body is signed as it is', () => {
    const { secret, id, timestamp, body_base64, headers } = standard.v1_binary;
    expect(signStandard([new StandardSecret(secret)], { id, timestamp, body: bytesOf(body_base64) })).toEqual(headers);
  });

  test.each(standard.rotation.cases)('rotation: $name', (vector) => {
    const { current_secret, previous_secret, public_whpk, over_vector } = standard.rotation;
    const over = standard.v1.find(({ n }) => n === over_vector)!;
    const raw = Object.entries({ ...over.headers, 'webhook-signature': vector['webhook-signature'] }).flat();
    const accepts = (key: StandardSecret | StandardPublicKey): boolean =>
      thrownBy(() => verifyStandard([key], raw, bytesOf(over.body_base64), soon(over.timestamp), 300)) === undefined;
    expect(accepts(new StandardSecret(current_secret))).toBe(vector.expect_with_current);
    expect(accepts(new StandardSecret(previous_secret))).toBe(vector.expect_with_previous);
    expect(accepts(new StandardPublicKey(public_whpk))).toBe(vector.expect_with_public_key);
  });

  test('an id with a full stop is neither signed nor verified: another message would have the same signature', () => {
    const { a, secret, signature_base64 } = standard.dot_confusion;
    const key = new StandardSecret(secret);
    const body = Buffer.from(a.body_utf8);
    expect(() => signStandard([key], { id: a.id, timestamp: a.timestamp, body })).toThrow(WebhookInputError);
    const raw = [
      'webhook-id',
      a.id,
      'webhook-timestamp',
      String(a.timestamp),
      'webhook-signature',
      `v1,${signature_base64}`,
    ];
    expect(() => verifyStandard([key], raw, body, soon(a.timestamp), 300)).toThrow(WebhookSignatureError);
  });

  test.each(mistaken.headers)('refused: $name', (vector) => {
    const over = standard.v1.find(({ n }) => n === vector.over_vector)!;
    const changed = (vector as { body_utf8?: string }).body_utf8;
    const body = changed === undefined ? bytesOf(over.body_base64) : Buffer.from(changed);
    expect(vector.strict).toBe('reject');
    expect(() =>
      verifyStandard([new StandardSecret(over.secret)], flat(vector.raw_headers), body, soon(over.timestamp), 300),
    ).toThrow(WebhookSignatureError);
  });

  test.each(mistaken.skew)('skew: $name', ({ over_vector, now_s, tolerance_s, expect: expected }) => {
    const over = standard.v1.find(({ n }) => n === over_vector)!;
    const raw = Object.entries(over.headers).flat();
    const thrown = thrownBy(() =>
      verifyStandard([new StandardSecret(over.secret)], raw, bytesOf(over.body_base64), now_s * 1_000, tolerance_s),
    );
    expect(thrown === undefined).toBe(expected === 'accept');
  });

  test('more entries than a verifier tries are refused before anything is computed', () => {
    const key = new StandardSecret(`whsec_${crypto.randomBytes(32).toString('base64')}`);
    const message = { id: 'msg_1', timestamp: 1_800_000_000, body: Buffer.from('{}') };
    const one = signStandard([key], message);
    const many = (count: number): string[] =>
      Object.entries({
        ...one,
        'webhook-signature': Array<string>(count).fill(one['webhook-signature']!).join(' '),
      }).flat();
    expect(verifyStandard([key], many(16), message.body, soon(1_800_000_000), 1).id).toBe('msg_1');
    const compare = jest.spyOn(crypto, 'timingSafeEqual');
    expect(() => verifyStandard([key], many(17), message.body, soon(1_800_000_000), 1)).toThrow(WebhookSignatureError);
    expect(compare).not.toHaveBeenCalled();
    compare.mockRestore();
  });

  test.each(mistaken.secrets)('secret: $name', ({ secret, legal_by_spec }) => {
    const make = (): StandardSecret => new StandardSecret(secret);
    expect(thrownBy(make) instanceof WebhookInputError).toBe(!legal_by_spec);
  });

  const secretOf = (bytes: number): string => `whsec_${crypto.randomBytes(bytes).toString('base64')}`;

  test.each([24, 32, 64])('BL-066: standardwebhooks and svix verify what a secret of %i bytes signed', (bytes) => {
    const secret = secretOf(bytes);
    const timestamp = Math.floor(Date.now() / 1_000);
    const body = Buffer.from('{ "a": 1 }');
    const headers = { ...signStandard([new StandardSecret(secret)], { id: 'msg_1', timestamp, body }) };
    expect(headers['webhook-signature']).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
    expect(new Webhook(secret).verify(body.toString(), headers)).toEqual({ a: 1 });
    expect(new SvixWebhook(secret).verify(body.toString(), headers)).toEqual({ a: 1 });
  });

  test('BL-066: a secret in any other form is refused when it is configured, in words that do not repeat it', () => {
    const good = `whsec_${Buffer.alloc(25, 0xfb).toString('base64')}`;
    const bad = {
      unpadded: good.replace(/=+$/, ''),
      'url-safe': good.replaceAll('+', '-').replaceAll('/', '_'),
      'with a newline': `${good}\n`,
      'without its prefix': good.slice('whsec_'.length),
      'too short': secretOf(23),
      'too long': secretOf(65),
      'no text': undefined as unknown as string,
    };
    for (const [form, secret] of Object.entries(bad)) {
      const thrown = thrownBy(() => new StandardSecret(secret)) as Error;
      expect([form, thrown]).toEqual([form, expect.any(WebhookInputError)]);
      expect(thrown.message).toContain('whsec_ and the padded base64 of 24 to 64 bytes');
      expect(thrown.message).not.toContain(good.slice(8, 30));
    }
  });

  test('a signature of any other length is false, and no error', () => {
    const secret = new StandardSecret(secretOf(32));
    const privateKey = new StandardPrivateKey(`whsk_${crypto.randomBytes(32).toString('base64')}`);
    const keys = [secret, new StandardPublicKey(privateKey.publicKey)];
    const answers = keys.flatMap((key) =>
      [0, 31, 33, 63, 65].map((length) => key.verify(Buffer.from('a'), Buffer.alloc(length))),
    );
    expect(new Set(answers)).toEqual(new Set([false]));
  });

  test('a private key whose public half is another’s is refused', () => {
    const [first, second] = [1, 2].map(
      (byte) => new StandardPrivateKey(`whsk_${Buffer.alloc(32, byte).toString('base64')}`),
    );
    const halves = Buffer.concat([Buffer.alloc(32, 1), bytesOf(second!.publicKey.slice('whpk_'.length))]);
    expect(() => new StandardPrivateKey(`whsk_${halves.toString('base64')}`)).toThrow(WebhookInputError);
    expect(first!.publicKey).not.toBe(second!.publicKey);
  });
});
