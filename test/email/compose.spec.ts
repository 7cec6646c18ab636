import { Test } from '@nestjs/testing';
import {
  email,
  emailAddress,
  emailKind,
  EmailKindError,
  EmailModule,
  EmailOptionsError,
  field,
  InvalidEmailError,
  type ContentOf,
  type EmailOptions,
} from 'nest-deliveries/email';
import { resolveEmailOptions } from '../../libs/email/src/email.options';
import { Composer } from '../../libs/email/src/compose/composer';
import { loadTemplates } from '../../libs/email/src/compose/load-templates';
import type { Message } from '../../libs/email/src/compose/message';
import { from, receipt, templates } from './support/kinds';

const composer = new Composer(loadTemplates(templates, [receipt], from.name), from);
const ada = emailAddress('ada@example.com');
const delivery = { id: '0190c3a4-0000-7000-8000-000000000001', createdAt: new Date('2026-01-02T03:04:05Z') };

const content: ContentOf<typeof receipt> = {
  customer: 'Ada',
  message: 'It is on its way.',
  link: 'https://shop.example/orders?id=1&from=mail',
  items: [{ name: 'Tea', gift: true }],
};

const compose = (changes: Partial<ContentOf<typeof receipt>> = {}, extras = {}): Message =>
  composer.compose(email(receipt, ada, { ...content, ...changes }, extras), delivery);

describe('a message', () => {
  it('is made of the delivery and its content alone', () => {
    const { html, ...rest } = compose({ coupon: 'SAVE-10' });
    expect(rest).toEqual({
      from,
      to: 'ada@example.com',
      subject: 'Your order, Ada',
      text: [
        'Hello Ada,\n\nIt is on its way.\n\n- Tea (a gift)\n\nSee the order:\nhttps://shop.example/orders?id=1&from=mail\n',
        'Your coupon: SAVE-10\n\n-- \nExample Shop\nYou get this because you ordered something.\n',
      ].join('\n'),
      messageId: '<0190c3a4-0000-7000-8000-000000000001@shop.example>',
      date: delivery.createdAt,
      boundary: delivery.id,
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
    expect(html).toMatch(/^<!DOCTYPE html>/);
    expect(compose({ coupon: 'SAVE-10' })).toEqual({ ...rest, html });
  });

  it('escapes what it is given in HTML, and in text leaves it as it is', () => {
    const evil = `<script>alert("1")</script> & 'more' {{customer}} =`;
    const { html, text, subject } = compose({
      customer: evil,
      message: evil,
      items: [{ name: evil, gift: false }],
      coupon: evil,
      link: `https://shop.example/?q='onmouseover=alert(1)`,
    });
    expect(html).not.toContain('<script>alert');
    expect(html).not.toContain(`'onmouseover`);
    const escaped = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#x27;more&#x27; {{customer}} &#x3D;';
    expect(html.split(escaped)).toHaveLength(5);
    expect(text.split(evil)).toHaveLength(5);
    expect(subject).toBe(`Your order, ${evil}`);
  });

  it('has prose as paragraphs of lines in both halves', () => {
    const { html, text } = compose({ message: '\n\nOne,\r\ntwo.  \n \n\n\nThree.\n' });
    expect(html).toMatch(/<p [^>]*>One,<br>two\.<\/p>\n<p [^>]*>Three\.<\/p>/);
    expect(text).toContain('\n\nOne,\ntwo.\n\nThree.\n\n');
  });

  it('leaves out what is optional and absent', () => {
    for (const coupon of [undefined, null]) {
      const { html, text } = compose({ coupon });
      expect(html + text).not.toContain('coupon');
    }
  });

  it('carries the headers of one-click unsubscribing (RFC 8058): one HTTPS URI', () => {
    expect(compose({}, { unsubscribe: 'https://shop.example/u/abc' }).headers).toEqual({
      'Auto-Submitted': 'auto-generated',
      'List-Unsubscribe': '<https://shop.example/u/abc>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    });
    for (const unsubscribe of [
      'http://shop.example/u',
      'mailto:u@shop.example',
      'https://shop.example/u>, <https://evil.example',
      'https://shop.example/\r\nBcc: a@b.example',
      '/u',
      '',
    ]) {
      expect(() => compose({}, { unsubscribe })).toThrow('unsubscribe must be an absolute https: URL');
    }
  });
});

describe('content that is not what its kind says', () => {
  const wrong: [string, object, string][] = [
    ['a line break in a header', { customer: 'Ada\nBcc: eve@example.com' }, 'content.customer must be one line'],
    ['a carriage return in a header', { customer: 'Ada\rBcc: eve@example.com' }, 'content.customer must be one line'],
    ['another line break in a header', { customer: 'Ada\u2028x' }, 'content.customer must be one line'],
    ['a NUL', { message: 'a\0b' }, 'content.message must have no control characters'],
    ['a script for a link', { link: 'javascript:alert(1)' }, 'content.link must be an absolute https: or http: URL'],
    [
      'a script behind a tab',
      { link: 'java\tscript:alert(1)' },
      'content.link must be an absolute https: or http: URL',
    ],
    ['a relative link', { link: '/orders' }, 'content.link must be an absolute https: or http: URL'],
    [
      'a link with a line break',
      { link: 'https://a.example/\r\nx' },
      'content.link must be an absolute https: or http: URL',
    ],
    ['nothing', { customer: undefined }, 'content.customer must be text'],
    ['a number', { customer: 7 }, 'content.customer must be text'],
    ['a flag that is text', { items: [{ name: 'x', gift: 'no' }] }, 'content.items[0].gift must be true or false'],
    ['a list that is none', { items: 'x' }, 'content.items must be a list'],
    ['a field too many', { custmer: 'x' }, 'content.custmer is no field of its kind; fields are: customer, message'],
    ['a field too many, by inheritance', JSON.parse('{"__proto__": 1}') as object, 'content.__proto__ is no field'],
  ];

  it.each(wrong)('%s is refused, by name and without the value', (_what, changes, message) => {
    const given = Object.defineProperties({ ...content }, Object.getOwnPropertyDescriptors(changes)) as never;
    const made = (): unknown => composer.compose(email(receipt, ada, given), delivery);
    expect(made).toThrow(InvalidEmailError);
    expect(made).toThrow(`This email cannot be made: ${message}`);
    expect(made).not.toThrow('eve@');
  });

  it('a subject is one line, whatever made it', () => {
    for (const subject of ['Hello\r\nBcc: eve@example.com', 'Hello\nx', 'Hello\u2028x', ' ']) {
      const rendering = { subject: () => subject, text: () => '', html: () => '' };
      const careless = new Composer(new Map([['receipt', rendering]]), from);
      expect(() => careless.compose(email(receipt, ada, content), delivery)).toThrow(
        /^This email cannot be made: subject must /,
      );
    }
  });

  it('a kind that the module does not know is refused', () => {
    const other = emailKind('other', {});
    expect(() => composer.compose(email(other, ada, {}), delivery)).toThrow('kind must be one of the option kinds');
  });

  it('kinds and fields have names that templates can use', () => {
    for (const name of ['Receipt', '../receipt', 'a_b', '', '1a']) {
      expect(() => emailKind(name, {})).toThrow(EmailKindError);
    }
    for (const name of ['a-b', '__proto__x', 'A', '1', '']) {
      expect(() => emailKind('receipt', { [name]: field.text })).toThrow(EmailKindError);
    }
  });
});

describe('an address', () => {
  it.each(['ada@example.com', 'ada+tag@sub.example.com', "o'neil@example.com", 'grüße@exämple.de', 'root@localhost'])(
    '%s is one',
    (text) => {
      expect(emailAddress(text)).toBe(text);
    },
  );

  it.each([
    ['', 'must be an address such as'],
    ['ada', 'must be an address such as'],
    ['@example.com', 'must be an address such as'],
    ['ada@', 'must be an address such as'],
    ['ada@example.com\r\nRCPT TO:<eve@example.com>', 'must be one address'],
    ['ada@example.com\n', 'must be an address such as'],
    ['ada@exam\u200bple.com', 'must be an address such as'],
    ['<ada@example.com>', 'must be an address such as'],
    ['Ada <ada@example.com>', 'must be an address such as'],
    ['"a b"@example.com', 'must be an address such as'],
    ['ada@example.com,eve@example.com', 'must be one address'],
    ['ada@eve@example.com', 'must be one address'],
    ['team:ada@example.com;', 'must be one address'],
    [`${'a'.repeat(243)}@example.com`, 'must have at most 254 bytes'],
    [undefined as unknown as string, 'must be the text of one address'],
    [['ada@example.com'] as unknown as string, 'must be the text of one address'],
  ])('%j is none', (text, rule) => {
    expect(() => emailAddress(text)).toThrow(`This email cannot be made: to ${rule}`);
  });
});

it('its type is that of its kind, as the compiler says', () => {
  const made = [
    email(receipt, ada, content),
    // @ts-expect-error -- a field that the kind does not have
    email(receipt, ada, { ...content, custmer: 'x' }),
    // @ts-expect-error -- a field of another type
    email(receipt, ada, { ...content, items: [{ name: 'Tea', gift: 'yes' }] }),
    // @ts-expect-error -- an address that nobody checked
    email(receipt, 'ada@example.com', content),
  ];
  expect(made.map(({ kind }) => kind)).toEqual([receipt, receipt, receipt, receipt]);
});

describe('options', () => {
  const good = { from, kinds: [receipt], templates };
  const wrong: [string, object, string][] = [
    ['a name that is close', { ...good, kind: [] }, 'there is no option "kind"; the nearest is "kinds"'],
    ['no sender', { kinds: [], templates }, 'from must be an object'],
    [
      'a sender that ends its header',
      { ...good, from: { ...from, name: 'A\r\nBcc: b@c.example' } },
      'from.name must be one line',
    ],
    [
      'a list of senders',
      { ...good, from: { ...from, address: 'a@b.example,c@d.example' } },
      'from.address must be one address',
    ],
    ['a kind twice', { ...good, kinds: [receipt, receipt] }, 'kinds has "receipt" twice'],
    ['no kinds', { from, templates }, 'kinds must be the list of all message kinds'],
    ['another protocol', { ...good, url: 'https://smtp.example' }, 'url must begin with smtp:// or smtps://'],
    ['half a login', { ...good, url: 'smtp://user@smtp.example' }, 'url must have both a user and a password'],
    [
      'a check switched off',
      { ...good, url: 'smtp://u:p4ssw0rd@smtp.example/?tls.rejectUnauthorized=false' },
      'url must have nothing after the port',
    ],
    ['a % that is none', { ...good, url: 'smtp://u:p%4ssw0rd%@smtp.example' }, 'url must have the special characters'],
    [
      'no TLS off loopback',
      { ...good, url: 'smtp://smtp.example', requireTls: false },
      'requireTls can be off for a relay on loopback only',
    ],
    [
      'no TLS off loopback, by a number',
      { ...good, url: 'smtp://10.0.0.1', requireTls: false },
      'requireTls can be off for a relay on loopback only',
    ],
    ['no certificate', { ...good, ca: 'x' }, 'ca must be a certificate in PEM'],
    ['no connection', { ...good, connections: 0 }, 'connections must be a whole number from 1 to 1000'],
    ['no duration', { ...good, timeout: 'soon' }, 'timeout must be a duration'],
    ['no channel', { ...good, channels: [] }, 'channels must be a list of names'],
  ];

  it.each(wrong)('%s is refused in a sentence that holds no password', (_what, options, message) => {
    const resolve = (): unknown => resolveEmailOptions(options as EmailOptions);
    expect(resolve).toThrow(EmailOptionsError);
    expect(resolve).toThrow(message);
    expect(resolve).not.toThrow('4ssw0rd');
  });

  it('stop the start when they are wrong, and so does a folder that is not there', async () => {
    const startWith = (options: object): Promise<unknown> =>
      Test.createTestingModule({ imports: [EmailModule.forRoot(options as EmailOptions)] }).compile();
    await expect(startWith({ ...good, connections: 0 })).rejects.toThrow(EmailOptionsError);
    await expect(startWith({ ...good, templates: '/nowhere/at/all' })).rejects.toThrow(
      'templates must name the folder of the templates; there is none at /nowhere/at/all',
    );
  });
});
