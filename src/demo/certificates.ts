import 'reflect-metadata';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { KeyObject, randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';

// reflect-metadata comes first because the certificate library's dependency injection reads it while it loads.

/** What a TLS server of the demonstration or of a test presents: PEM texts that `tls.createServer` takes as they are. */
export interface TestCertificate {
  /** The leaf certificate, signed by the authority. */
  certificate: string;
  /** Its private key, PKCS #8. */
  key: string;
}

export interface IssueOptions {
  /** DNS names and IP addresses (IPv6 without brackets) that go into the subject alternative names. */
  hosts: string[];
  /** Default: five minutes ago, so that a clock slightly behind accepts it. */
  notBefore?: Date;
  /** Default: in one day. A date in the past makes an expired certificate. */
  notAfter?: Date;
}

/** A certificate authority for local TLS receivers. Its key lives and dies with the process: nothing is written to disk. */
export interface TestCa {
  /** The authority's own certificate: what a client has to trust. */
  certificate: string;
  issue(options: IssueOptions): Promise<TestCertificate>;
}

const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Makes an authority with a P-256 key, valid for a day; two calls give two authorities that do not trust each other. */
export async function createTestCa(): Promise<TestCa> {
  cryptoProvider.set(webcrypto);
  const keys = await newKeys();
  const name = `CN=nest-deliveries test authority ${randomBytes(4).toString('hex')}`;
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name,
    notBefore: new Date(Date.now() - 5 * MINUTE),
    notAfter: new Date(Date.now() + DAY),
    keys,
    signingAlgorithm: P256,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });

  return {
    certificate: certificate.toString('pem'),
    async issue({ hosts, notBefore, notAfter }) {
      const leaf = await newKeys();
      const issued = await X509CertificateGenerator.create({
        serialNumber: serialNumber(),
        subject: 'CN=nest-deliveries test receiver',
        issuer: name,
        notBefore: notBefore ?? new Date(Date.now() - 5 * MINUTE),
        notAfter: notAfter ?? new Date(Date.now() + DAY),
        publicKey: leaf.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: P256,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
          // Clients match the host against these names alone; the common name counts for nothing (RFC 9525).
          new SubjectAlternativeNameExtension(hosts.map((host) => ({ type: isIP(host) ? 'ip' : 'dns', value: host }))),
          await AuthorityKeyIdentifierExtension.create(keys.publicKey),
        ],
      });
      return { certificate: issued.toString('pem'), key: pem(leaf.privateKey) };
    },
  };
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(P256, true, ['sign', 'verify']);
}

function pem(privateKey: webcrypto.CryptoKey): string {
  return KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Positive and never the same twice, as RFC 5280 section 4.1.2.2 asks: the top bit of the first octet stays 0. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes.toString('hex');
}
