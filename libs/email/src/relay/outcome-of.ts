import { failed, retry, succeeded, type Outcome } from 'nest-deliveries';

/** What nodemailer says of a send that did not work, as far as it is used here: its message quotes the relay, so it never is. */
export interface RelayFailure {
  /** The relay's reply code, if it was a reply that ended it. */
  readonly responseCode?: unknown;
  /** What was answered: `CONN`, `EHLO`, `AUTH PLAIN`, `MAIL FROM`, `RCPT TO`, `DATA`. */
  readonly command?: unknown;
  /** nodemailer's own word for the step that failed, such as `ETLS`. */
  readonly code?: unknown;
  /** The platform's code below it, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`. */
  readonly originalCode?: unknown;
  /** Which time limit: `CONNECT_TIMEOUT`, `GREETING_TIMEOUT`, `UPGRADE_TIMEOUT`, `SOCKET_TIMEOUT`. */
  readonly timeoutType?: unknown;
}

/** Replies about the login and not about the message (RFC 4954, section 6): a later attempt works once the key does. */
const loginReplies: readonly unknown[] = [530, 534, 535];
/** Commands that name the recipient or carry the message: what is answered to them may be about it after all. */
const messageCommands: readonly unknown[] = ['RCPT TO', 'DATA'];

/**
 * Whether the relay does not take our login, so that no other message would get further. The same reply to a recipient or to a
 * message is retried as well, and says nothing about others.
 */
export const isLoginRejected = ({ responseCode, command }: RelayFailure): boolean =>
  loginReplies.includes(responseCode) && !messageCommands.includes(command);

/**
 * What a send that did not work means. Pure.
 *
 * - a reply: its code. 5xx fails, wherever in the session it came; 530, 534, 535 and everything below 500 is retried
 * - no TLS: retried, also when the relay refused STARTTLS with a 5xx, since nothing was said about the message yet
 * - no reply: retried; the kind is the time limit's, the platform's or nodemailer's name for it
 */
export function outcomeOf(failure: RelayFailure): Outcome {
  const { responseCode: code } = failure;
  if (typeof code !== 'number') return retry(nameOf(failure));
  if (failure.code === 'ETLS') return retry(`starttls:${code}`);
  return code >= 500 && code < 600 && !loginReplies.includes(code) ? failed(code) : retry(code);
}

/** What nodemailer says of a send that worked, for somebody. */
export interface RelayReceipt {
  readonly accepted?: readonly unknown[] | undefined;
  readonly rejected?: readonly unknown[] | undefined;
}

/**
 * What a send that worked means. Pure. Only the one recipient, and nobody else, is a success; nor is the rest tried again, since
 * whoever has the message would get it again.
 */
export const outcomeOfReceipt = ({ accepted, rejected }: RelayReceipt): Outcome =>
  accepted?.length === 1 && rejected?.length === 0 ? succeeded() : failed('partly_accepted');

/** A name for a failure without a reply, for operators: never text from the relay. */
export function nameOf({ timeoutType, originalCode, code }: RelayFailure): string {
  if (typeof timeoutType === 'string') return `timeout:${timeoutType.replace(/_TIMEOUT$/, '').toLowerCase()}`;
  return [originalCode, code].find((each): each is string => typeof each === 'string') ?? 'relay_error';
}
