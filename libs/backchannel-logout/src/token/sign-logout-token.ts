import { SignJWT } from 'jose';
import type { LogoutClaims } from './logout-claims';
import type { SigningKey } from './signing-key';

/** The token in its compact form. `typ` keeps it from being taken for another kind of token (section 2.4; RFC 8725, section 3.11). */
export const signLogoutToken = (claims: LogoutClaims, { kid, alg, privateKey }: SigningKey): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg, kid, typ: 'logout+jwt' }).sign(privateKey);
