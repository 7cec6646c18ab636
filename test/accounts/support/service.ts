import type { LogLevel } from '@nestjs/common';
import { DeliveryOperations } from 'nest-deliveries';
import { DataSource } from 'typeorm';
import { startApplication, type Application } from '../../../src/application';
import type { Configuration } from '../../../src/configuration';
import { startMailSink, type MailSink } from '../../../src/demo/mail-sink';
import { LinkTokens, type Purpose } from '../../../src/links/link-tokens';
import { newSecrets, type Secrets } from '../../../src/secrets';
import { until } from '../../faults/support/facts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

export const publicUrl = 'https://accounts.example';
const operatorToken = 'known-to-operators';

/** An answer of the service. */
export interface Answer<Body = unknown> {
  readonly status: number;
  readonly body: Body;
}

/** A delivery, and what became of it. */
export interface Sent {
  readonly id: string;
  readonly channel: string;
  readonly status: string;
  readonly is: string;
  /** Of the last attempt that did not succeed: why. */
  readonly why: string | null;
}

/** Somebody who is signed in. */
export interface Person {
  readonly accountId: string;
  readonly handle: string;
  readonly email: string;
  readonly token: string;
}

/** The account service with a relay that keeps what it is given, and what a test does with it. */
export class Service {
  private people = 0;

  private constructor(
    readonly database: TestDatabase,
    readonly mail: MailSink,
    readonly secrets: Secrets,
    readonly application: Application,
  ) {}

  static async start(options: Partial<Configuration> = {}, logger: LogLevel[] = ['error', 'fatal']): Promise<Service> {
    const secrets = { ...newSecrets(), ...options.secrets };
    const [database, mail] = await Promise.all([createTestDatabase(), startMailSink()]);
    const application = await startApplication(configurationOf(database.url, mail.url, secrets, options), 0, logger);
    return new Service(database, mail, secrets, application);
  }

  async close(): Promise<void> {
    await this.application.close();
    await this.mail.close();
    await this.database.drop();
  }

  get operations(): DeliveryOperations {
    return this.application.nest.get(DeliveryOperations);
  }

  get dataSource(): DataSource {
    return this.application.nest.get(DataSource);
  }

  /** @param token of a session, or `operator` */
  async call<Body = unknown>(
    method: string,
    path: string,
    { token, body }: { token?: string | undefined; body?: unknown } = {},
  ): Promise<Answer<Body>> {
    const response = await fetch(this.application.url + path, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token === 'operator' ? operatorToken : token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.includes('json');
    return { status: response.status, body: (json ? JSON.parse(text) : text) as Body };
  }

  /** @throws Error for any status but 2xx */
  async must<Body = unknown>(
    method: string,
    path: string,
    options: Parameters<Service['call']>[2] = {},
  ): Promise<Body> {
    const { status, body } = await this.call<Body>(method, path, options);
    if (status > 299) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  /** An account with a verified address, signed in, with an empty mailbox. */
  async person(handle = `person-${(this.people += 1)}`): Promise<Person> {
    const email = `${handle}@example.com`;
    await this.must('POST', '/admin/accounts/move', { token: 'operator', body: { accounts: [{ handle, email }] } });
    return { ...(await this.signIn(handle)), handle, email };
  }

  async signIn(handle: string, passkey?: string): Promise<{ accountId: string; token: string; sessionId: string }> {
    const session = await this.must<{ token: string; sessionId: string }>('POST', '/test-login', {
      body: { handle, ...(passkey && { passkey }) },
    });
    const [account] = await this.database.query<{ id: string }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
    return { accountId: account!.id, ...session };
  }

  /** Adds an address and follows its link, once it has arrived: who is quicker gets none any more. @returns its id */
  async verifiedAddress(person: Person, email: string): Promise<string> {
    const { id } = await this.must<{ id: string }>('POST', '/account/addresses', {
      token: person.token,
      body: { email },
    });
    await until(`the link arrives at ${email}`, () => this.mail.at(email).length > 0);
    await this.must('POST', '/verify', { body: { token: this.tokenOf('verification', id) } });
    return id;
  }

  async addressId(person: Person, email = person.email): Promise<string> {
    const [row] = await this.database.query<{ id: string }>(
      'SELECT id FROM addresses WHERE account_id = $1 AND email = $2',
      [person.accountId, email],
    );
    return row!.id;
  }

  /** The token of a link, as its recipient gets it. */
  tokenOf(purpose: Purpose, id: string): string {
    const tokens = new LinkTokens(this.secrets.tokenDigestKeys);
    return tokens.rebuild(purpose, id, tokens.digestOf(purpose, id))!;
  }

  /** Lets a channel send nothing while `work` runs. */
  async holding<T>(channel: string, work: () => Promise<T>): Promise<T> {
    await this.operations.pause({ channel }, { actor: 'test' });
    try {
      return await work();
    } finally {
      await this.operations.resume({ channel }, { actor: 'test' });
    }
  }

  /** The deliveries for an account, oldest first, once all have ended. */
  async ended(accountId: string): Promise<Sent[]> {
    return until(`the deliveries for ${accountId} have ended`, async () => {
      const rows = await this.deliveries(accountId);
      return rows.every(({ status }) => status !== 'pending') && rows;
    });
  }

  deliveries(accountId: string): Promise<Sent[]> {
    return this.database.query<Sent & Record<string, unknown>>(
      `SELECT d.id, d.channel, d.status, coalesce(d.payload->>'is', d.channel) AS is,
              (SELECT a.error FROM deliveries.delivery_attempts a WHERE a.delivery_id = d.id ORDER BY a.number DESC LIMIT 1) AS why
         FROM deliveries.deliveries d
        WHERE d.recipient @> jsonb_build_object('accountId', $1::text)
        ORDER BY d.created_at, d.id`,
      [accountId],
    );
  }
}

/** What a service is started with. */
export const configurationOf = (
  databaseUrl: string,
  relayUrl: string,
  secrets: Secrets,
  options: Partial<Configuration> = {},
): Configuration => ({
  databaseUrl,
  replica: 'T',
  operatorToken,
  publicUrl,
  secrets,
  testLogin: true,
  email: { url: relayUrl, from: { name: 'Accounts', address: 'accounts@accounts.example' } },
  ...options,
  deliveries: { pollInterval: 100, retry: { first: 100, max: '1s' }, shutdownGrace: '2s', ...options.deliveries },
});
