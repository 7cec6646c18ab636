import crypto from 'node:crypto';
import fc from 'fast-check';
import {
  signStandard,
  StandardPrivateKey,
  StandardPublicKey,
  StandardSecret,
  WebhookSignatureError,
  WebhookSigningKey,
  WebhookVerifier,
  type SignedHeaders,
} from 'nest-deliveries/webhooks';

interface Message {
  readonly id: string;
  readonly kind: string;
  readonly body: Buffer;
}

const timestamp = 1_800_000_000;
const secretOf = (bytes: number): string => `whsec_${crypto.randomBytes(bytes).toString('base64')}`;
const key = new WebhookSigningKey('key-1', crypto.randomBytes(32).toString('base64url'));
const secret = new StandardSecret(secretOf(32));
const privateKey = new StandardPrivateKey(`whsk_${crypto.randomBytes(32).toString('base64')}`);

/** As a receiver sets it up who takes all three. */
const verifier = new WebhookVerifier('partner', {
  rullst: [key],
  standard: [secret, new StandardPublicKey(privateKey.publicKey)],
});
const verify = (rawHeaders: readonly string[], body: Buffer): unknown =>
  verifier.verify(rawHeaders, body, timestamp * 1_000);

const schemes: Readonly<Record<string, (message: Message) => SignedHeaders>> = {
  'rullst-v1': (message) => key.sign({ ...message, timestamp }),
  v1: (message) => signStandard([secret], { ...message, timestamp }),
  v1a: (message) => signStandard([privateKey], { ...message, timestamp }),
};

const example: Message = { id: `msg_${'ab'.repeat(16)}`, kind: 'order.paid', body: Buffer.from('{"order":42}') };
const refusal = new WebhookSignatureError();

/** What becomes of a message: `refused`, if it is with the one error that there is. */
function answerTo(rawHeaders: readonly string[], body: Buffer): string {
  try {
    verify(rawHeaders, body);
    return 'accepted';
  } catch (error) {
    const { code, message, constructor } = error as WebhookSignatureError;
    const same = constructor === WebhookSignatureError && code === refusal.code && message === refusal.message;
    return same ? 'refused' : `${constructor.name}: ${message}`;
  }
}

const flipped = (bytes: Buffer, bit: number): Buffer => {
  const changed = Buffer.from(bytes);
  changed[bit >> 3] = changed[bit >> 3]! ^ (1 << (bit & 7));
  return changed;
};

/** A message with one bit changed, of a header's value or, where `place` is behind them, of the body. */
function withBitChanged(headers: SignedHeaders, body: Buffer, place: number, bit: number): [string[], Buffer] {
  const raw = Object.entries(headers).flat();
  if (place >= raw.length / 2) return [raw, flipped(body, bit)];
  raw[place * 2 + 1] = flipped(Buffer.from(raw[place * 2 + 1]!, 'latin1'), bit).toString('latin1');
  return [raw, body];
}

/** The bytes of each header's value, and of the body. */
const bytesOf = (headers: SignedHeaders, body: Buffer): Buffer[] => [
  ...Object.values(headers).map((value) => Buffer.from(value, 'latin1')),
  body,
];

const anyMessage: fc.Arbitrary<Message> = fc.record({
  id: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => `msg_${Buffer.from(bytes).toString('hex')}`),
  kind: fc.stringMatching(/^[A-Za-z0-9._:-]{1,128}$/),
  body: fc.json({ maxDepth: 1 }).map((text) => Buffer.from(text)),
});

describe.each(Object.entries(schemes))('a message signed by %s', (_, sign) => {
  const raw = (message: Message): string[] => Object.entries(sign(message)).flat();

  it('passes as it is, under headers in any case, and again: a verifier remembers nothing', () => {
    const shouted = raw(example).map((text, index) => (index % 2 === 0 ? text.toUpperCase() : text));
    for (const headers of [raw(example), raw(example), shouted]) {
      expect(verify(headers, example.body)).toMatchObject({ id: example.id, timestamp });
    }
  });

  it('is refused with every single bit of every header and of the body changed', () => {
    const headers = sign(example);
    const answers = bytesOf(headers, example.body).flatMap((bytes, place) =>
      Array.from({ length: bytes.length * 8 }, (__, bit) =>
        answerTo(...withBitChanged(headers, example.body, place, bit)),
      ),
    );
    expect(new Set(answers)).toEqual(new Set(['refused']));
    expect(answers.length).toBeGreaterThan(800);
  });

  it('is refused with any bit changed, whatever it says', () => {
    const anyBit = fc.property(anyMessage, fc.nat(), fc.nat(), (message, place, bit) => {
      const headers = sign(message);
      const parts = bytesOf(headers, message.body);
      const part = place % parts.length;
      const changed = withBitChanged(headers, message.body, part, bit % (parts[part]!.length * 8));
      expect(answerTo(Object.entries(headers).flat(), message.body)).toBe('accepted');
      expect(answerTo(...changed)).toBe('refused');
    });
    fc.assert(anyBit, { numRuns: 200 });
  });

  it('is refused with a body that is shorter, longer, or written anew', () => {
    const spaced = { ...example, body: Buffer.from('{ "order": 42 }') };
    const answers = [
      spaced.body,
      spaced.body.subarray(1),
      Buffer.concat([spaced.body, Buffer.from('\n')]),
      Buffer.from(JSON.stringify(JSON.parse(spaced.body.toString()))),
      Buffer.alloc(0),
    ].map((body) => answerTo(raw(spaced), body));
    expect(answers).toEqual(['accepted', 'refused', 'refused', 'refused', 'refused']);
  });

  it('is refused with any header missing, there twice, or in another form', () => {
    const entries = Object.entries(sign(example));
    const answers = entries.flatMap(([name, value]) => {
      const others = entries.filter(([other]) => other !== name).flat();
      const forms = Object.entries(formsOf(name)).map(([form, write]) => [form, write(value)] as const);
      return [
        ['no such header', others],
        ['the same twice', [...others, name, value, name, value]],
        ['the same in another case', [...others, name, value, name.toUpperCase(), value]],
        ...forms.flatMap(([form, written]) => (written === value ? [] : [[form, [...others, name, written]]])),
      ].map(([form, headers]) => [name, form, answerTo(headers as string[], example.body)]);
    });
    expect(answers.filter(([, , answer]) => answer !== 'refused')).toEqual([]);
    expect(answers.length).toBeGreaterThan(45);
  });
});

type Form = (value: string) => string;

/** What may stand in a header and is not what was sent: other spellings of the same, and nonsense. */
const anyHeader: Readonly<Record<string, Form>> = {
  nothing: () => '',
  'a tab before it': (value) => `\t${value}`,
  'a line after it': (value) => `${value}\n`,
  'a zero byte after it': (value) => `${value}\0`,
  'a comma, and itself': (value) => `${value}, ${value}`,
  'quotes around it': (value) => `"${value}"`,
  'its first character percent-encoded': (value) => `%${value.charCodeAt(0).toString(16)}${value.slice(1)}`,
  'its first character in full width': (value) => String.fromCharCode(value.charCodeAt(0) + 0xfee0) + value.slice(1),
  'its case changed': (value) => (value === value.toUpperCase() ? value.toLowerCase() : value.toUpperCase()),
  'a character too few': (value) => value.slice(0, -1),
  'a character too many': (value) => `${value}0`,
  'a thousand times itself': (value) => value.repeat(1_000),
};

// Spaces separate the entries of the other one, in any number.
const noList: Readonly<Record<string, Form>> = {
  'a space before it': (value) => ` ${value}`,
  'a space after it': (value) => `${value} `,
};

const times: Readonly<Record<string, Form>> = {
  'a leading zero': (value) => `0${value}`,
  'a plus': (value) => `+${value}`,
  'a minus': (value) => `-${value}`,
  'a fraction': (value) => `${value}.0`,
  'an exponent': (value) => Number(value).toExponential(),
  'hexadecimal digits': (value) => `0x${Number(value).toString(16)}`,
  'digits in groups': (value) => Number(value).toLocaleString('en'),
  milliseconds: (value) => `${value}000`,
  'a date': (value) => new Date(Number(value) * 1_000).toISOString(),
};

/** Of what stands behind `v1=` or `v1,`. */
const encoded =
  (write: (tag: string) => string): Form =>
  (value) =>
    value.slice(0, 3) + write(value.slice(3));

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const signatures: Readonly<Record<string, Form>> = {
  'no version': (value) => value.slice(3),
  'another version': (value) => `v2${value.slice(2)}`,
  'the other scheme’s separator': (value) => value.replace(/[=,]/, (found) => (found === '=' ? ',' : '=')),
  'a space after the version': encoded((tag) => ` ${tag}`),
  'hexadecimal digits': encoded((tag) => Buffer.from(tag, 'base64').toString('hex')),
  'padding that is not wanted, or none where it is': encoded((tag) =>
    tag.endsWith('=') ? tag.replace(/=+$/, '') : `${tag}=`,
  ),
  'the other alphabet': encoded((tag) =>
    /[-_]/.test(tag)
      ? Buffer.from(tag, 'base64url').toString('base64')
      : Buffer.from(tag, 'base64').toString('base64url'),
  ),
  // A decoder that is not strict gives the same bytes.
  'bits that are left over': encoded((tag) =>
    tag.replace(
      /(.)(=*)$/,
      (_, last: string, padding: string) => `${alphabet[alphabet.indexOf(last) + 1] ?? 'B'}${padding}`,
    ),
  ),
  'another, of 33 bytes': encoded((tag) =>
    Buffer.concat([Buffer.from(tag, 'base64'), Buffer.alloc(1)]).toString('base64'),
  ),
};

function formsOf(name: string): Readonly<Record<string, Form>> {
  if (/timestamp/i.test(name)) return { ...anyHeader, ...noList, ...times };
  if (name === 'webhook-signature') return { ...anyHeader, ...signatures };
  return { ...anyHeader, ...noList, ...(/signature/i.test(name) && signatures) };
}

describe('a shared secret', () => {
  const compared = (rawHeaders: readonly string[], by: WebhookVerifier): number => {
    const compare = jest.spyOn(crypto, 'timingSafeEqual');
    try {
      by.verify(rawHeaders, example.body, timestamp * 1_000);
    } catch (error) {
      expect(error).toBeInstanceOf(WebhookSignatureError);
    }
    const { length } = compare.mock.calls;
    compare.mockRestore();
    return length;
  };

  it.each(['rullst-v1', 'v1'])(
    'of %s is compared in constant time, wherever a signature differs, and also when it does not',
    (name) => {
      const raw = Object.entries(schemes[name]!(example)).flat();
      const at = raw.findIndex((text) => /-signature$/i.test(text)) + 1;
      const tag = raw[at]!;
      // The first and the last character of 32 bytes, with no bits left over.
      for (const place of [3, 3 + 20, 3 + 41]) {
        const other = tag[place] === 'A' ? 'B' : 'A';
        const wrong = raw.with(at, tag.slice(0, place) + other + tag.slice(place + 1));
        expect(compared(wrong, verifier)).toBe(1);
      }
      expect(compared(raw, verifier)).toBe(1);
    },
  );

  it('that fits first does not keep the others from being tried: the time says nothing about which it was', () => {
    const other = new StandardSecret(secretOf(32));
    const headers = signStandard([secret, other], { ...example, timestamp });
    const raw = Object.entries(headers).flat();
    expect(compared(raw, new WebhookVerifier('partner', { standard: [secret, other] }))).toBe(4);
  });
});
