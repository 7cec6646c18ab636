import { SignJWT } from 'jose';
import { SigningKeys } from './signing-keys';

/** Whom an ID token is for and whom it is about. */
export interface TokenSubject {
  readonly clientId: string;
  readonly sub: string;
  readonly sid: string;
}

/** The OpenID provider that this application is. */
export class Issuer {
  /** @param name `iss` of everything that it signs */
  constructor(
    readonly name: string,
    readonly keys: SigningKeys,
  ) {}

  /** An ID token for an hour, with the session's id, by which a logout token will name it. */
  idToken({ clientId, sub, sid }: TokenSubject): Promise<string> {
    const { kid, alg, privateKey } = this.keys.current;
    return new SignJWT({ sid })
      .setProtectedHeader({ alg, kid, typ: 'JWT' })
      .setIssuer(this.name)
      .setAudience(clientId)
      .setSubject(sub)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey);
  }
}
