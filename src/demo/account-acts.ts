import type { AccountFacts, AnnouncementFacts, LogoutFacts } from './account-facts';
import { must } from './api';
import { gate } from './gate';
import type { MailArrival } from './mail-sink';
import { operatorToken, publicUrl, type Stage } from './stage';
import { until } from './until';

/** Accounts that an announcement goes to, and how many of them opt out while it is being sent. */
const crowd = 1_000;
const optOuts = 50;

const announced = 'We are moving';
const redirectUri = 'https://client.example/callback';

/** The acts about accounts: links, notices, an announcement and the end of a session. */
export class AccountActs {
  constructor(
    private readonly stage: Stage,
    private readonly say: (text: string) => void,
  ) {}

  async tell(): Promise<AccountFacts> {
    await this.asOperator('POST', '/admin/accounts/move', {
      accounts: [{ handle: 'rosa', email: 'rosa@example.com' }],
    });
    const signUp = await this.signUp();
    const recovery = await this.recovery();
    const announcement = await this.announcement();
    const logout = await this.logout();
    return { signUp, recovery, announcement, logout };
  }

  private async signUp(): Promise<AccountFacts['signUp']> {
    const address = 'rosa@work.example';
    this.say('Act 5. rosa signs in and adds a second address. A link arrives there, and she follows it.');
    const token = await this.signIn('rosa');
    await this.as(token, 'POST', '/account/addresses', { email: address });
    const mail = await this.mailTo(address, 'Verify your address');
    await this.as(undefined, 'POST', '/verify', { token: tokenIn(mail, 'verify') });
    const addresses = await this.as<{ email: string; verified: boolean }[]>(token, 'GET', '/account/addresses');
    return {
      address,
      links: this.stage.mail.at(address).length,
      verified: addresses.some(({ email, verified }) => email === address && verified),
    };
  }

  private async recovery(): Promise<AccountFacts['recovery']> {
    this.say(
      'Act 6. rosa has lost her passkeys. She follows the link of a recovery, and every verified address hears of it, so that nobody ' +
        'who has come by one of them can hide it.',
    );
    const addresses = ['rosa@example.com', 'rosa@work.example'];
    await this.as(undefined, 'POST', '/recoveries', { email: addresses[0] });
    const mail = await this.mailTo(addresses[0]!, 'Recover your account');
    await this.as(undefined, 'POST', '/recoveries/complete', { token: tokenIn(mail, 'recover'), passkey: 'New phone' });
    const subject = 'Your account was recovered';
    for (const address of addresses) await this.mailTo(address, subject);
    await this.allSent('email');
    const notices = this.stage.mail.arrivals.filter((each) => each.subject === subject).map(({ to }) => to);
    return { addresses, notices };
  }

  private async announcement(): Promise<AnnouncementFacts> {
    this.say(
      `Act 7. An operator sends an announcement to ${crowd} accounts and to rosa, and the mail server takes its time. Meanwhile ${optOuts} of them opt ` +
        'out, and rosa adds a third address: its link does not wait behind the announcement.',
    );
    const handles = Array.from({ length: crowd }, (_, index) => `reader-${index}`);
    const accounts = handles.map((handle) => ({ handle, email: `${handle}@example.com` }));
    await this.asOperator('POST', '/admin/accounts/move', { accounts });
    const slow = gate();
    const underWay = new Set<string>();
    this.stage.mail.behave(({ subject, to }) => {
      if (subject !== announced) return undefined;
      underWay.add(to);
      return slow.passed;
    });
    const body = { subject: announced, text: 'To another building, with the same doors.', essential: false };
    const { id, recipients } = await this.asOperator<{ id: string; recipients: number }>(
      'POST',
      '/admin/announcements',
      body,
    );
    await until('the mail server holds announcements', () => (underWay.size >= 20 ? true : undefined));
    // Not those whose message is on its way.
    const leaving = accounts.filter(({ email }) => !underWay.has(email)).slice(0, optOuts);
    for (const { handle } of leaving) {
      await this.as(await this.signIn(handle), 'PUT', '/account/preferences', { announcementsByEmail: false });
    }
    const hurried = 'rosa@home.example';
    await this.as(await this.signIn('rosa'), 'POST', '/account/addresses', { email: hurried });
    await this.mailTo(hurried, 'Verify your address');
    const { pending: overtaken } = await this.progress(id);
    slow.open();
    const { sent, skipped } = await until('the announcement is sent', async () => {
      const progress = await this.progress(id);
      return progress.pending === 0 ? progress : undefined;
    });
    const copies = this.stage.mail.arrivals.filter(({ subject }) => subject === announced).map(({ to }) => to);
    const unwanted = leaving.filter(({ email }) => copies.includes(email)).length;
    return {
      recipients: recipients - (await this.withoutAddress()),
      optedOut: optOuts,
      mailboxes: new Set(copies).size,
      copies: copies.length,
      unwanted,
      sent,
      skipped,
      overtaken,
    };
  }

  private async logout(): Promise<LogoutFacts[]> {
    this.say(
      'Act 8. rosa is signed in at Shop and Wiki, and not at News. She ends her session here: Shop and Wiki get a logout token, fetch the ' +
        'published keys, and verify it with code of their own.',
    );
    const clients = [
      { party: 'Shop', hasTokens: true },
      { party: 'Wiki', hasTokens: true },
      { party: 'News', hasTokens: false },
    ];
    const { token, sessionId } = await this.session('rosa');
    const parties = [];
    for (const { party, hasTokens } of clients) {
      const id = party.toLowerCase();
      const relying = await this.stage.relyingParty(id);
      const { secret } = await this.asOperator<{ secret: string }>('POST', '/admin/oidc-clients', {
        id,
        name: party,
        redirectUri,
        backchannelLogoutUri: `${relying.origin}/logout`,
      });
      if (hasTokens) {
        const { code } = await this.as<{ code: string }>(token, 'POST', '/oidc/authorize', {
          clientId: id,
          redirectUri,
        });
        const request = { code, client_id: id, client_secret: secret, redirect_uri: redirectUri };
        await this.as(undefined, 'POST', '/oidc/token', request);
      }
      parties.push({ party, hasTokens, arrivals: relying.arrivals });
    }
    await this.as(token, 'DELETE', `/account/sessions/${sessionId}`);
    await this.allSent('backchannel_logout');
    return parties.map(({ party, hasTokens, arrivals }) => ({
      party,
      hasTokens,
      verdicts: arrivals.map(({ verdict, sid }) =>
        sid === undefined || sid === sessionId ? verdict : 'another session',
      ),
    }));
  }

  private as<Body>(token: string | undefined, method: string, path: string, body?: object): Promise<Body> {
    return must<Body>(method, this.stage.addressOfA + path, { ...(body && { body }), ...(token && { token }) });
  }

  private asOperator<Body>(method: string, path: string, body?: object): Promise<Body> {
    return this.as<Body>(operatorToken, method, path, body);
  }

  private session(handle: string): Promise<{ token: string; sessionId: string }> {
    return this.as(undefined, 'POST', '/test-login', { handle });
  }

  private async signIn(handle: string): Promise<string> {
    return (await this.session(handle)).token;
  }

  private progress(id: string): Promise<{ pending: number; sent: number; skipped: number }> {
    return this.asOperator('GET', `/admin/announcements/${id}`);
  }

  /** Accounts of the acts before, whose holders can be told in their inbox alone. */
  private withoutAddress(): Promise<number> {
    return this.stage.count(
      'SELECT FROM accounts a WHERE NOT EXISTS (SELECT FROM addresses WHERE account_id = a.id AND is_primary)',
      [],
    );
  }

  private mailTo(address: string, subject: string): Promise<MailArrival> {
    return until(`"${subject}" arrives at ${address}`, () =>
      this.stage.mail.at(address).find((each) => each.subject === subject),
    );
  }

  private async allSent(channel: string): Promise<void> {
    await until(`everything of channel ${channel} is sent`, async () => {
      const waiting = await this.stage.count(
        `SELECT FROM deliveries.deliveries WHERE channel = $1 AND status = 'pending'`,
        [channel],
      );
      return waiting === 0 ? true : undefined;
    });
  }
}

function tokenIn({ text }: MailArrival, page: string): string {
  const link = new RegExp(`${publicUrl}/${page}\\?token=([\\w-]+)`).exec(text);
  if (!link) throw new Error(`The email has no link to ${page}.`);
  return link[1]!;
}
