import { EmailKindError } from '../errors';
import type { EmailAddress } from './address';
import type { Fields, ValuesOf } from './field';

/**
 * A kind of message: its name, which is that of its templates (`<name>.text.hbs` and `<name>.html.hbs`), and the fields of what it
 * says, which the type of its content follows from.
 */
export interface EmailKind<F extends Fields = Fields> {
  readonly name: string;
  readonly fields: F;
}

/** The type of what a message of this kind says. */
export type ContentOf<Kind extends EmailKind> = ValuesOf<Kind['fields']>;

/**
 * Declares a kind of message.
 *
 * @param name of its templates: `[a-z][a-z0-9-]{0,63}`
 * @throws EmailKindError
 */
export function emailKind<const F extends Fields>(name: string, fields: F): EmailKind<F> {
  if (typeof name !== 'string' || !/^[a-z][a-z0-9-]{0,63}$/.test(name)) {
    const got = typeof name === 'string' ? JSON.stringify(name) : `something of type ${typeof name}`;
    throw new EmailKindError(
      `An email kind is named as its templates are: 1 to 64 of a-z 0-9 -, a letter first; got ${got}. Rename it.`,
    );
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    throw new EmailKindError(
      `Email kind "${name}": fields must be an object. Write { total: field.text }, or {} for none.`,
    );
  }
  const wrong = Object.keys(fields).find((each) => !/^[a-z][A-Za-z0-9]*$/.test(each));
  if (wrong !== undefined) {
    throw new EmailKindError(
      `Email kind "${name}": a field is named with letters and digits, a small letter first; got ${JSON.stringify(wrong)}. Rename it.`,
    );
  }
  return { name, fields };
}

/** One message to one recipient, before it is composed. Made by {@link email}. */
export interface Email {
  readonly kind: EmailKind;
  readonly to: EmailAddress;
  readonly content: Readonly<Record<string, unknown>>;
  readonly unsubscribe?: string;
}

/** What a message may have beside its content. */
export interface EmailExtras {
  /**
   * Where one click unsubscribes the recipient (RFC 8058): an `https:` URL at which POST unsubscribes and GET never does. Goes into
   * `List-Unsubscribe` and `List-Unsubscribe-Post`; a link in the body is a field of the kind.
   */
  readonly unsubscribe?: string;
}

/** A message of a kind; the content's type is the kind's. */
export const email = <Kind extends EmailKind>(
  kind: Kind,
  to: EmailAddress,
  content: ContentOf<Kind>,
  extras: EmailExtras = {},
): Email => ({ kind, to, content, ...extras });
