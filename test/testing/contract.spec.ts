import { setImmediate as turn } from 'node:timers/promises';
import {
  channelOptionsOf,
  DeliveryChannel,
  failed,
  retry,
  skipped,
  succeeded,
  type Attempt,
  type ChannelHandler,
  type Delivery,
  type DeliveryEvent,
  type Outcome,
} from 'nest-deliveries';
import {
  channelContract,
  contractRules,
  httpReceiver,
  startReceiver,
  type ChannelSubject,
  type ContractRule,
  type ScriptedReceiver,
} from 'nest-deliveries/testing';
import type { Type } from '@nestjs/common';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTestedApp, type TestedApp } from './letters';

// One channel that keeps every rule, and for each rule one that breaks it and no other.

interface Letter {
  readonly letterId: string;
  readonly key?: string;
}

const secret = 'a "secret" key';
let receiver: ScriptedReceiver;
let database: TestDatabase;
let app: TestedApp;
let written = 0;

const post = (id: string, signal?: AbortSignal): Promise<Response> =>
  fetch(receiver.url, { method: 'POST', headers: { 'letter-id': id }, ...(signal ? { signal } : {}) });

const outcomeOf = ({ ok, status }: Response): Outcome =>
  ok ? succeeded() : status >= 500 ? retry(status) : failed(status);

@DeliveryChannel({ name: 'good', maxAge: '1d', sendTimeout: '2s' })
class Good implements ChannelHandler<Letter> {
  deliveries({ type, payload }: DeliveryEvent) {
    if (type !== `${channelOptionsOf(this.constructor)!.name}_written`) return [];
    return [{ destination: 'a letterbox', payload: payload as Letter }];
  }
  async send(delivery: Delivery<Letter>, attempt: Attempt): Promise<Outcome> {
    return outcomeOf(await post(delivery.id, attempt.signal));
  }
}

@DeliveryChannel({ name: 'takes-all', maxAge: '1d' })
class TakesAllEvents extends Good {
  override deliveries({ type }: DeliveryEvent) {
    const own = type === 'takes-all_written' || type.startsWith('contract_');
    return own ? [{ destination: 'a letterbox', payload: { letterId: type } }] : [];
  }
}
@DeliveryChannel({ name: 'records-none', maxAge: '1d' })
class RecordsNone extends Good {
  override deliveries(): never[] {
    return [];
  }
}
@DeliveryChannel({ name: 'own-transaction', maxAge: '1d' })
class RecordedElsewhere extends Good {}
@DeliveryChannel({ name: 'stores-secret', maxAge: '1d' })
class StoresSecret extends Good {
  override deliveries(event: DeliveryEvent) {
    return super.deliveries(event).map((draft) => ({ ...draft, payload: { ...draft.payload, key: secret } }));
  }
}
@DeliveryChannel({ name: 'skips', maxAge: '1d' })
class SkipsWhatWorked extends Good {
  override async send(delivery: Delivery<Letter>, attempt: Attempt): Promise<Outcome> {
    const outcome = await super.send(delivery, attempt);
    return outcome.type === 'succeeded' ? skipped('done') : outcome;
  }
}
@DeliveryChannel({ name: 'new-ids', maxAge: '1d' })
class NewIdForEachAttempt extends Good {
  override async send(delivery: Delivery<Letter>, attempt: Attempt): Promise<Outcome> {
    return outcomeOf(await post(`${delivery.id} ${attempt.number}`, attempt.signal));
  }
}
@DeliveryChannel({ name: 'impatient', maxAge: '1d' })
class GivesUpTooEarly extends Good {
  override async send(delivery: Delivery<Letter>, attempt: Attempt): Promise<Outcome> {
    const { ok, status } = await post(delivery.id, attempt.signal);
    return ok ? succeeded() : failed(status);
  }
}
@DeliveryChannel({ name: 'stubborn', maxAge: '1d' })
class NeverGivesUp extends Good {
  override async send(delivery: Delivery<Letter>, attempt: Attempt): Promise<Outcome> {
    const { ok, status } = await post(delivery.id, attempt.signal);
    return ok ? succeeded() : retry(status);
  }
}
@DeliveryChannel({ name: 'quotes', maxAge: '1d' })
class QuotesTheReceiver extends Good {
  override async send(delivery: Delivery<Letter>, attempt: Attempt): Promise<Outcome> {
    const response = await post(delivery.id, attempt.signal);
    return response.status === 503 ? { type: 'retry', kind: await response.text() } : outcomeOf(response);
  }
}
@DeliveryChannel({ name: 'deaf', maxAge: '1d' })
class DeafToItsSignal extends Good {
  override async send(delivery: Delivery<Letter>): Promise<Outcome> {
    return outcomeOf(await post(delivery.id));
  }
}
@DeliveryChannel({ name: 'mixes', maxAge: '1d' })
class MixesSends extends Good {
  private id = '';
  override async send(delivery: Delivery<Letter>, attempt: Attempt): Promise<Outcome> {
    this.id = delivery.id;
    await turn();
    return outcomeOf(await post(this.id, attempt.signal));
  }
}
@DeliveryChannel({ name: 'changes', maxAge: '1d' })
class ChangesItsDelivery extends Good {
  override async send(delivery: Delivery<Letter>, attempt: Attempt): Promise<Outcome> {
    (delivery.payload as { letterId: string }).letterId = 'changed';
    return super.send(delivery, attempt);
  }
}
@DeliveryChannel({ name: 'silent', maxAge: '1d' })
class SaysNothing extends Good {
  override async send(delivery: Delivery<Letter>, attempt: Attempt): Promise<Outcome> {
    await super.send(delivery, attempt);
    return undefined as never;
  }
}

const broken = {
  'other-events': TakesAllEvents,
  records: RecordsNone,
  'rolls-back': RecordedElsewhere,
  'no-secrets': StoresSecret,
  succeeds: SkipsWhatWorked,
  'same-id': NewIdForEachAttempt,
  'tries-again': GivesUpTooEarly,
  'gives-up': NeverGivesUp,
  'kinds-only': QuotesTheReceiver,
  'heeds-signal': DeafToItsSignal,
  'side-by-side': MixesSends,
  'leaves-it-alone': ChangesItsDelivery,
} satisfies Record<ContractRule, Type<Good>>;
const rules = Object.keys(contractRules) as ContractRule[];

function subject(channel: Type<Good>): ChannelSubject {
  const event = (): DeliveryEvent => ({
    type: `${channelOptionsOf(channel)!.name}_written`,
    payload: { letterId: String((written += 1)) },
  });
  return {
    tester: () => app.tester,
    channel,
    record: (tx, { recorder }) =>
      channel === RecordedElsewhere
        ? recorder.transaction((other) => recorder.record(other, event()))
        : recorder.record(tx, event()),
    receiver: httpReceiver(
      () => receiver,
      ({ headers }) => headers['letter-id'] as string | undefined,
    ),
    secrets: [secret],
  };
}

/** @returns what each rule said that was broken */
async function complaints(tested: ChannelSubject): Promise<Partial<Record<ContractRule, string>>> {
  const found: Partial<Record<ContractRule, string>> = {};
  for (const { rule, run } of channelContract(tested)) {
    await run().catch((error: Error) => {
      found[rule] = `${error.name} ${error.message}`;
    });
  }
  return found;
}

beforeAll(async () => {
  receiver = await startReceiver();
  database = await createTestDatabase();
  app = await startTestedApp(database.url, [Good, SaysNothing, ...Object.values(broken)]);
});

afterAll(async () => {
  await app.module.close();
  await receiver.close();
  await database.drop();
});

it('is kept by a channel that does as it should, and leaves nothing that is still to be sent', async () => {
  expect(await complaints(subject(Good))).toEqual({});
  const left = await app.tester.recorded(Good);
  expect(left.length).toBeGreaterThan(10);
  expect(new Set(left.map(({ status }) => status))).toEqual(new Set(['cancelled']));
});

it.each(rules.filter((rule) => rule !== 'records'))(
  'notices who breaks the rule "%s", and nobody else',
  async (rule) => {
    const found = await complaints(subject(broken[rule]));
    expect(Object.keys(found)).toEqual([rule]);
    // Which rule, which class, and what to do.
    expect(found[rule]).toMatch(new RegExp(`^ChannelContractError ${rule}: ${broken[rule].name} .*\\. [A-Z].*\\.$`));
    expect(found[rule]).not.toContain('ada@example.org');
  },
);

it('notices who records nothing', async () => {
  const found = await complaints(subject(broken.records));
  expect(found.records).toContain('RecordsNone recorded no delivery');
});

it('notices who returns no outcome', async () => {
  expect((await complaints(subject(SaysNothing))).succeeds).toContain('returned no outcome');
});

it('leaves out what the author says nothing about, and names each case', () => {
  const { refuse: _, ...unrefusing } = subject(Good).receiver;
  const { secrets: __, ...rest } = { ...subject(Good), receiver: unrefusing };
  const cases = channelContract(rest);
  expect(cases.map(({ rule }) => rule)).toEqual(rules.filter((rule) => rule !== 'gives-up' && rule !== 'no-secrets'));
  expect(cases[0]!.name).toBe(`Good: ${contractRules['other-events']}`);
});
