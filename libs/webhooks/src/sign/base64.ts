/**
 * Base64 that has one spelling only. Node's decoder skips what it does not know and ignores bits that are left over, so that
 * many texts give the same bytes; what is decoded is therefore encoded again and compared.
 */
export const decodeBase64url = (text: string): Buffer | undefined => canonical(text, 'base64url');

/** The alphabet of RFC 4648, section 4, with its padding. */
export const decodeBase64 = (text: string): Buffer | undefined => canonical(text, 'base64');

function canonical(text: string, encoding: 'base64' | 'base64url'): Buffer | undefined {
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : undefined;
}
