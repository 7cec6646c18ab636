import type { Delivery } from 'nest-deliveries';
import { InvalidEmailError } from '../errors';
import { domainOf, emailAddress } from './address';
import type { Email } from './email-kind';
import type { Message, Sender } from './message';
import { readContent, readLink } from './read-content';
import type { TemplateSet } from './template-set';

/** Turns what a channel wants to say into a message. Pure: the same delivery and content make the same bytes. */
export class Composer {
  constructor(
    private readonly templates: TemplateSet,
    private readonly from: Sender,
  ) {}

  /** @throws InvalidEmailError */
  compose(message: Email, { id, createdAt }: Pick<Delivery, 'id' | 'createdAt'>): Message {
    const { kind, to, unsubscribe } = message;
    const render = this.templates.get(kind.name);
    if (!render) throw new InvalidEmailError('kind', `must be one of the option kinds; "${kind.name}" is not`);
    const view = readContent(kind.fields, message.content);
    return {
      from: this.from,
      to: emailAddress(to),
      subject: headerValue('subject', render.subject(view).trim()),
      text: `${render.text(view).trim()}\n`,
      html: `${render.html(view).trim()}\n`,
      // A mail client that deduplicates hides the copy of an attempt that was repeated.
      messageId: `<${id}@${domainOf(this.from.address)}>`,
      date: createdAt,
      boundary: id,
      headers: {
        // RFC 3834: no absence notes, please.
        'Auto-Submitted': 'auto-generated',
        ...(unsubscribe === undefined ? {} : unsubscribeHeaders(unsubscribe)),
      },
    };
  }
}

/** RFC 8058: one HTTPS URI, and the very words that say what a POST to it does. */
function unsubscribeHeaders(link: string): Record<string, string> {
  return {
    'List-Unsubscribe': headerValue('unsubscribe', `<${readLink(link, 'unsubscribe', ['https:'])}>`),
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  };
}

/** @throws InvalidEmailError for what could end a header and begin another one */
function headerValue(path: string, value: string): string {
  if (value === '') throw new InvalidEmailError(path, 'must not be empty');
  if (/[\p{Cc}\u2028\u2029]/u.test(value))
    throw new InvalidEmailError(path, 'must be one line, without control characters');
  return value;
}
