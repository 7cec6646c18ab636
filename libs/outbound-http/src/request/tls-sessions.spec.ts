import { TlsSessions } from './tls-sessions';

describe('TlsSessions', () => {
  const session = Buffer.from('a session');
  let now = 0;

  beforeEach(() => {
    now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });

  afterEach(() => jest.restoreAllMocks());

  it('are kept by origin, for ten minutes from the full handshake', () => {
    const sessions = new TlsSessions();
    sessions.keep('https://a.example.test', session, false);
    now = 9 * 60_000;
    // The ticket that a resumed handshake brings is as old as the handshake that it goes back to.
    sessions.keep('https://a.example.test', session, true);
    expect(sessions.get('https://a.example.test')).toBe(session);
    expect(sessions.get('https://b.example.test')).toBeUndefined();
    now = 11 * 60_000;
    expect(sessions.get('https://a.example.test')).toBeUndefined();
  });

  it('are bounded in number, the one renewed longest ago going first', () => {
    const sessions = new TlsSessions();
    for (let index = 0; index < 300; index++) {
      sessions.keep(`https://${index}.example.test`, session, false);
    }
    const kept = Array.from({ length: 300 }, (_, index) => sessions.get(`https://${index}.example.test`));
    expect(kept.filter(Boolean)).toHaveLength(256);
    expect(kept.slice(0, 44).every((entry) => entry === undefined)).toBe(true);
  });

  it('are forgotten once a handshake with one fails', () => {
    const sessions = new TlsSessions();
    sessions.keep('https://a.example.test', session, false);
    sessions.forget('https://a.example.test');
    expect(sessions.get('https://a.example.test')).toBeUndefined();
  });
});
