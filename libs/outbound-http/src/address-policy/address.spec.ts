import * as fc from 'fast-check';
import { canonicalText, embeddedIPv4, readAddress } from './address';

/** Bytes of an IPv6 address in the form that the WHATWG serializer writes: hexadecimal groups, one `::` at most. */
function bytesOf(serialized: string): number[] {
  const [before = '', after] = serialized.split('::');
  const groups = (text = ''): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [left, right] = [groups(before), groups(after)];
  const zeros = Array.from<number>({ length: 8 - left.length - right.length }).fill(0);
  return [...left, ...zeros, ...right].flatMap((group) => [group >> 8, group & 0xff]);
}

describe('readAddress', () => {
  it('reads every spelling of an IPv6 address as the WHATWG parser does', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const serialized = new URL(`https://[${text}]/`).hostname.slice(1, -1);
        expect(readAddress(text)?.toByteArray()).toEqual(bytesOf(serialized));
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['::8.8.8.8', '::808:808'],
    ['::ffff:8.8.8.8', '::ffff:808:808'],
    ['64:ff9b::10.0.0.1', '64:ff9b::a00:1'],
    ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
  ])('reads %s as %s', (dotted, groups) => {
    expect(readAddress(dotted)?.toByteArray()).toEqual(readAddress(groups)?.toByteArray());
  });

  it('reads nothing but canonical IPv4 and IPv6', () => {
    const notAddresses = [
      '',
      '1',
      '1.2.3',
      '01.2.3.4',
      '0x1.2.3.4',
      '1.2.3.4.',
      '1.2.3.4/8',
      '::1%lo',
      '[::1]',
      ' ::1',
    ];
    expect(notAddresses.map(readAddress)).toEqual(notAddresses.map(() => undefined));
  });
});

describe('canonicalText', () => {
  const of = (text: string): string => {
    const address = readAddress(text);
    return address ? canonicalText(address) : '';
  };

  it('is one for all spellings of a place', () => {
    expect(of('::ffff:127.0.0.1')).toBe(of('127.0.0.1'));
    expect(of('0:0:0:0:0:FFFF:7f00:1')).toBe(of('127.0.0.1'));
    expect(of('2606:4700::0001')).toBe(of('2606:4700:0:0:0:0:0:1'));
    expect(of('64:ff9b::7f00:1')).not.toBe(of('127.0.0.1'));
  });
});

describe('embeddedIPv4', () => {
  it.each([
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['64:ff9b::10.1.2.3', '10.1.2.3'],
    ['2002:a01:203::1', '10.1.2.3'],
    ['::10.1.2.3', undefined],
    ['::fffe:10.1.2.3', undefined],
    ['64:ff9b::1:10.1.2.3', undefined],
    ['2003:a01:203::1', undefined],
    ['64:ff9b:1::10.1.2.3', undefined],
    ['2606:4700::10.1.2.3', undefined],
    ['10.1.2.3', undefined],
  ])('of %s is %s', (text, inner) => {
    const address = readAddress(text);
    expect(address && embeddedIPv4(address)?.toString()).toBe(inner);
  });
});
