import * as fc from 'fast-check';
import { InvalidDraftError } from '../errors';
import { jsonText } from './check-json';

const text = (value: unknown, limit = 256 * 1_024): string => jsonText(value, 'payload', limit, 'Draft');

/** Path and rule of the refusal. */
function refusal(value: unknown, limit?: number): string {
  try {
    return `accepted: ${text(value, limit)}`;
  } catch (error) {
    if (!(error instanceof InvalidDraftError)) throw error;
    return `${error.path} ${error.rule}`;
  }
}

const cycle: Record<string, unknown> = {};
cycle['list'] = [{ back: cycle }];
const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
const nul = 'must not contain U+0000, which PostgreSQL cannot store';
const half = 'must not contain half of a surrogate pair';
class Money {
  constructor(readonly amount: number) {}
  double(): number {
    return this.amount * 2;
  }
}

it.each<[string, unknown, string]>([
  ['NUL in a text', { note: 'a\0b' }, `payload.note ${nul}`],
  ['NUL in a key', { 'a\0': 1 }, `the key "a\\u0000" in payload ${nul}`],
  ['half of a pair in a text', { list: ['x\ud800'] }, `payload.list[0] ${half}`],
  ['the other half', '\udc00x', `payload ${half}`],
  ['halves the wrong way round', ['\udc00\ud800'], `payload[0] ${half}`],
  ['half of a pair in a key', { a: { '\ud800': 1 } }, `the key "\\ud800" in payload.a ${half}`],
  ['undefined', { a: undefined }, 'payload.a must be JSON, and is undefined (leave it out)'],
  ['undefined itself', undefined, 'payload must be JSON, and is undefined (leave it out)'],
  ['a hole in a list', [1, , 3], 'payload[1] must be JSON, and is undefined (leave it out)'], // eslint-disable-line no-sparse-arrays -- the hole is the case
  ['a BigInt', { n: { m: 1n } }, 'payload.n.m must be JSON, and is a bigint'],
  ['a function', [() => 1], 'payload[0] must be JSON, and is a function'],
  ['a symbol', Symbol('a'), 'payload must be JSON, and is a symbol'],
  ['a symbol for a key', { a: { [Symbol('kind')]: 1 } }, 'payload.a must not have symbols for keys'],
  ['NaN', { a: [NaN] }, 'payload.a[0] must be a finite number, and is NaN'],
  ['Infinity', -Infinity, 'payload must be a finite number, and is -Infinity'],
  ['an invalid date', { at: new Date(NaN) }, 'payload.at must be a valid date'],
  ['a cycle', cycle, 'payload.list[0].back must not contain itself'],
  ['a Map', { m: new Map() }, 'payload.m must be a plain object or an array, and is a Map'],
  ['a Set', new Set(), 'payload must be a plain object or an array, and is a Set'],
  ['a boxed text', { s: Object('a') as unknown }, 'payload.s must be a plain object or an array, and is a String'],
  ['an Error', { e: new Error('a') }, 'payload.e must be a plain object or an array, and is a Error'],
  ['a RegExp', /a/, 'payload must be a plain object or an array, and is a RegExp'],
  ['a typed array', new Uint8Array(1), 'payload must be a plain object or an array, and is a Uint8Array'],
  [
    'an object of no class',
    Object.create({ constructor: undefined, [Symbol.toStringTag]: 'Odd' }) as unknown,
    'payload must be a plain object or an array, and is a special object',
  ],
  ['a promise', Promise.resolve(), 'payload must be a plain object or an array, and is a Promise'],
  ['what toJSON gives', { a: { toJSON: () => ({ b: NaN }) } }, 'payload.a.b must be a finite number, and is NaN'],
  [
    'nothing from toJSON',
    { a: { toJSON: () => undefined } },
    'payload.a must be JSON, and is undefined (leave it out)',
  ],
  ['toJSON in a circle', cycleOfToJson(), 'payload must not contain itself'],
  ['too deep a nest', deep(201), `payload${'[0]'.repeat(200)} must not nest deeper than 200 levels`],
  ['a key that needs brackets', { 'a.b': { '': NaN } }, 'payload["a.b"][""] must be a finite number, and is NaN'],
])('refuses %s with its path', (_, value, expected) => {
  expect(refusal(value)).toBe(expected);
});

function cycleOfToJson(): unknown {
  const value: { toJSON(): unknown } = { toJSON: () => value };
  return value;
}

it.each<[string, unknown, string]>([
  ['null', null, 'null'],
  ['an emoji', { text: '👍\u2028' }, '{"text":"👍\u2028"}'],
  ['a date', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
  ['a URL', [new URL('https://example.test/a')], '["https://example.test/a"]'],
  ['a class’s own fields', new Money(5), '{"amount":5}'],
  ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  [
    'a key that means something to objects',
    JSON.parse('{"__proto__":{"a":1},"toString":2}'),
    '{"__proto__":{"a":1},"toString":2}',
  ],
  ['one object in two places', ((shared) => [shared, { shared }])({ a: 1 }), '[{"a":1},{"shared":{"a":1}}]'],
  ['the deepest nest', deep(200), `${'['.repeat(200)}1${']'.repeat(200)}`],
])('takes %s', (_, value, expected) => {
  expect(text(value)).toBe(expected);
});

it('counts bytes of UTF-8, not characters', () => {
  expect(text('é'.repeat(4), 10)).toBe('"éééé"');
  expect(refusal('é'.repeat(4), 9)).toBe('payload must be at most 9 bytes of JSON, and is 10');
});

it('gives up on what is far too big before it has walked all of it', () => {
  // 2 to the power of 60 leaves, in 60 objects
  let wide: unknown = 'leaf';
  for (let level = 0; level < 60; level += 1) wide = [wide, wide];
  expect(refusal(wide)).toMatch(/^payload must be at most 262144 bytes of JSON, and is more$/);
});

it('says exactly what JSON values say', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      fc.pre(!JSON.stringify(value).includes('\\u0000'));
      expect(text(value)).toBe(JSON.stringify(value));
    }),
  );
});

it('takes anything at all or refuses it with a path below the value', () => {
  fc.assert(
    fc.property(
      fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withSet: true,
        withSparseArray: true,
        withTypedArray: true,
        withBoxedValues: true,
        withNullPrototype: true,
      }),
      (value) => {
        const found = refusal(value);
        const accepted = found.startsWith('accepted: ');
        const storable = accepted && !/\\u0000|\\ud[89a-f]/.test(found) && JSON.parse(found.slice(10)) !== undefined;
        expect(storable || /^(the key .* in )?payload/s.test(found)).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});
