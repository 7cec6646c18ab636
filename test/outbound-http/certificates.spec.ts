import { createTestCa, type TestCa } from '../../src/demo/certificates';
import { once } from 'node:events';
import { X509Certificate } from 'node:crypto';
import * as tls from 'node:tls';
import { errorCode, listen } from './listen';

describe('test certificates', () => {
  let ca: TestCa;

  beforeAll(async () => {
    ca = await createTestCa();
  });

  async function handshake(hosts: string[], servername: string, trusted: string, dates: { notAfter?: Date } = {}) {
    const { certificate, key } = await ca.issue({ hosts, ...dates });
    const server = tls.createServer({ cert: certificate, key });
    server.on('tlsClientError', () => undefined);
    const port = await listen(server);
    const client = tls.connect({ host: '127.0.0.1', port, servername, ca: trusted });
    try {
      await once(client, 'secureConnect');
      return 'trusted';
    } catch (error) {
      return errorCode(error);
    } finally {
      client.destroy();
      server.close();
    }
  }

  it('is trusted by a client that trusts the authority, by name', async () => {
    expect(await handshake(['receiver.example.test'], 'receiver.example.test', ca.certificate)).toBe('trusted');
  });

  it('is refused for another host, after its end, and by a client that trusts another authority', async () => {
    expect(await handshake(['other.example.test'], 'receiver.example.test', ca.certificate)).toBe(
      'ERR_TLS_CERT_ALTNAME_INVALID',
    );
    expect(
      await handshake(['receiver.example.test'], 'receiver.example.test', ca.certificate, {
        notAfter: new Date(Date.now() - 1000),
      }),
    ).toBe('CERT_HAS_EXPIRED');
    const stranger = await createTestCa();
    expect(await handshake(['receiver.example.test'], 'receiver.example.test', stranger.certificate)).toBe(
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    );
  });

  it('names IP addresses of both families as such', async () => {
    const { certificate } = await ca.issue({ hosts: ['127.0.0.1', '::1', 'localhost'] });
    expect(new X509Certificate(certificate).subjectAltName).toBe(
      'IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, DNS:localhost',
    );
  });
});
