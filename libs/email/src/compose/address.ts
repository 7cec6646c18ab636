import { InvalidEmailError } from '../errors';

declare const checked: unique symbol;

/** The text of one address, checked by {@link emailAddress}. It stays one in a payload, which is stored as JSON. */
export type EmailAddress = string & { readonly [checked]: 'one address' };

/** RFC 5321, section 4.5.3.1.3: a path is at most 256 octets, of which two are its brackets. */
const longest = 254;

/**
 * One recipient: `local@domain`, without a name, without a second address. Call it where a delivery is recorded, so that a list of
 * recipients fails there: whoever got a part of a message would get it again with each attempt for the rest.
 *
 * Quoted local parts are refused with the characters that they need; so are control characters and spaces of any kind.
 *
 * @throws InvalidEmailError
 */
export function emailAddress(text: string): EmailAddress {
  const refuse = (rule: string): never => {
    throw new InvalidEmailError('to', rule);
  };
  if (typeof text !== 'string') return refuse('must be the text of one address');
  if (Buffer.byteLength(text) > longest) return refuse(`must have at most ${longest} bytes`);
  if (/[,;]/.test(text) || text.split('@').length > 2)
    return refuse('must be one address: one delivery, one recipient');
  if (!/^[^\s\p{C}<>()[\]\\"@:,;]+@[^\s\p{C}<>()[\]\\"@:,;]+$/u.test(text)) {
    return refuse('must be an address such as ada@example.com, without name, brackets, quotes or spaces');
  }
  return text as EmailAddress;
}

/** What stands behind the @. */
export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1);
