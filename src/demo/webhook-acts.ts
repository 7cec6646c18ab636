import { Webhook } from 'standardwebhooks';
import {
  signStandard,
  StandardSecret,
  WebhookSignature,
  WebhookSigningKey,
  type ShownSecrets,
  type WebhookEndpoint,
} from 'nest-deliveries/webhooks';
import { must } from './api';
import { operatorToken, type Stage } from './stage';
import { until } from './until';
import type { WebhookFacts } from './webhook-facts';
import { verdictOf, type Verify, type WebhookReceiver } from './webhook-receiver';

interface Registered {
  readonly endpoint: WebhookEndpoint;
  readonly secrets: ShownSecrets;
}

/** The act about signed webhooks: two schemes, a secret that changes, an endpoint that is gone for a while, and an inbox. */
export class WebhookActs {
  constructor(
    private readonly stage: Stage,
    private readonly say: (text: string) => void,
    private readonly createAccount: (handle: string) => Promise<void>,
  ) {}

  async tell(): Promise<WebhookFacts> {
    this.say(
      'Act 9. Acme, Bolt and Casa register endpoints for signed webhooks. Acme verifies with the package standardwebhooks, Bolt by the other ' +
        'scheme. lise gets an account. Then Acme’s secret is changed, Casa’s system is gone (410), and emmy and chien get accounts.',
    );
    const receivers = await Promise.all(['Acme', 'Bolt', 'Casa'].map(() => this.stage.webhookReceiver()));
    const [acme, bolt, casa] = receivers as [WebhookReceiver, WebhookReceiver, WebhookReceiver];
    const atAcme = await this.register(acme, 'standard');
    const atBolt = await this.register(bolt, 'rullst-v1');
    const atCasa = await this.register(casa, 'standard');
    acme.trust(standard(atAcme.secrets.secret!));
    bolt.trust(rullst(atBolt.secrets));
    casa.trust(standard(atCasa.secrets.secret!));
    await this.createAccount('lise');
    await this.allSent();

    const changed = await this.endpoint<ShownSecrets>(atAcme, 'rotate');
    casa.answer(410);
    await this.createAccount('emmy');
    await this.allSent();
    const last = acme.arrivals.at(-1)!;
    const rotation = {
      withOld: verdictOf(() => standard(atAcme.secrets.secret!)(last)),
      withNew: verdictOf(() => standard(changed.secret!)(last)),
    };
    acme.trust(standard(changed.secret!));
    await this.createAccount('chien');
    await this.allSent();
    const dead = await this.backAgain(atCasa, casa);
    return {
      partners: [facts('Acme', 'standard', acme), facts('Bolt', 'rullst-v1', bolt), facts('Casa', 'standard', casa)],
      rotation,
      dead,
      ...(await this.inbox()),
    };
  }

  private async backAgain(registered: Registered, casa: WebhookReceiver): Promise<WebhookFacts['dead']> {
    const all = await this.operator<WebhookEndpoint[]>('GET', '/admin/webhooks/endpoints');
    const { disabledReason } = all.find(({ id }) => id === registered.endpoint.id)!;
    casa.answer(undefined);
    await this.endpoint(registered, 'enable');
    const { count, asOf } = await this.endpoint<{ count: number; asOf: string }>(registered, 'failed/count');
    this.say(
      `       Casa was disabled, and is back. ${count} messages had failed meanwhile; an operator has them sent again.`,
    );
    const { changed } = await this.endpoint<{ changed: number }>(registered, 'failed/retry', { asOf });
    await this.allSent();
    return { disabledReason, counted: count, retried: changed };
  }

  /** Another party sends to us: the same message twice, then one that was changed on the way. */
  private async inbox(): Promise<Pick<WebhookFacts, 'inbox' | 'inboxDuplicate'>> {
    const { path, secret } = await this.operator<{ path: string; secret: string }>('GET', '/admin/webhooks/inbox');
    const body = Buffer.from('{"type":"invoice.paid"}');
    const timestamp = Math.floor(Date.now() / 1_000);
    const headers = signStandard([new StandardSecret(secret)], { id: 'msg_of_the_bank', timestamp, body });
    const post = (bytes: Buffer): Promise<Response> =>
      fetch(this.stage.addressOfA + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: bytes,
      });
    const answers = [await post(body), await post(body), await post(Buffer.from('{"type":"invoice.void"}'))];
    const { duplicate } = (await answers[1]!.json()) as { duplicate: boolean };
    return { inbox: answers.map(({ status }) => status), inboxDuplicate: duplicate };
  }

  private register({ url }: WebhookReceiver, scheme: string): Promise<Registered> {
    const body = { url, kinds: ['account_created'], schemes: [scheme] };
    return this.operator<Registered>('POST', '/admin/webhooks/endpoints', body);
  }

  private endpoint<Body>({ endpoint }: Registered, action: string, body?: object): Promise<Body> {
    return this.operator<Body>('POST', `/admin/webhooks/endpoints/${endpoint.id}/${action}`, body);
  }

  private operator<Body>(method: string, path: string, body?: object): Promise<Body> {
    return must<Body>(method, this.stage.addressOfA + path, { token: operatorToken, ...(body && { body }) });
  }

  private async allSent(): Promise<void> {
    await until('every webhook is sent, or has failed', async () => {
      const waiting = await this.stage.count(
        `SELECT FROM deliveries.deliveries WHERE channel = 'webhooks' AND status = 'pending'`,
        [],
      );
      return waiting === 0 ? true : undefined;
    });
  }
}

/** Other people's code. */
const standard =
  (secret: string): Verify =>
  ({ body, headers }) =>
    new Webhook(secret).verify(body.toString(), headers);

const rullst = ({ keyId, signingKey }: ShownSecrets): Verify => {
  const key = new WebhookSigningKey(keyId!, signingKey!);
  return ({ rawHeaders, body }) => key.verify(WebhookSignature.fromRawHeaders(rawHeaders), body, Date.now(), 60);
};

const facts = (partner: string, scheme: string, { arrivals }: WebhookReceiver): WebhookFacts['partners'][number] => ({
  partner,
  scheme,
  handles: ['lise', 'emmy', 'chien'],
  arrivals: arrivals.map(({ handle, id, verdict, status }) => ({ handle, id, verdict, status: status ?? 0 })),
});
