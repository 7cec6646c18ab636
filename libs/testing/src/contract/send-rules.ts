import { AttemptAbortedError, kindPattern, unnamedKind, type Outcome } from 'nest-deliveries';
import type { ContractStage } from './contract-stage';

export async function succeeds(stage: ContractStage): Promise<void> {
  const { receiver } = stage.subject;
  receiver.accept();
  const before = receiver.received().length;
  const outcome = stage.outcome(await stage.send(await stage.delivery()));
  if (outcome.type !== 'succeeded')
    stage.broken(`gave ${inWords(outcome)} for what the receiver took. Return succeeded().`);
  const arrived = receiver.received().length - before;
  if (arrived !== 1)
    stage.broken(`gave "succeeded", and ${arrived} messages arrived. Send one, and wait for its answer.`);
}

export async function sameId(stage: ContractStage): Promise<void> {
  const { receiver } = stage.subject;
  const before = receiver.received().length;
  const [one, other] = [await stage.delivery(), await stage.delivery()];
  receiver.failForNow();
  await stage.send(one, 1);
  receiver.accept();
  await stage.send(one, 2);
  await stage.send(other, 1);
  const ids = receiver.received().slice(before);
  const advice = 'Send delivery.id, or what follows from it and nothing else.';
  if (ids.length !== 3) stage.broken(`sent ${ids.length} messages in 3 attempts.`);
  if (ids.includes('')) stage.broken(`sent a message without an id. ${advice}`);
  if (ids[0] !== ids[1])
    stage.broken(`sent another id at the second attempt, so that nobody can tell a repeat. ${advice}`);
  if (ids[1] === ids[2])
    stage.broken(`sent one id for two deliveries, so that the second is taken for a repeat. ${advice}`);
}

export async function triesAgain(stage: ContractStage): Promise<void> {
  const outcome = await outcomeOf(stage, 'failForNow');
  if (outcome.type !== 'retry')
    stage.broken(`gave ${inWords(outcome)} for a failure that may pass. Return retry(kind), or throw.`);
}

export async function givesUp(stage: ContractStage): Promise<void> {
  const outcome = await outcomeOf(stage, 'refuse');
  if (outcome.type !== 'failed')
    stage.broken(`gave ${inWords(outcome)} for what will never work. Return failed(kind).`);
}

export async function kindsOnly(stage: ContractStage): Promise<void> {
  for (const how of ['failForNow', 'refuse'] as const) {
    if (how === 'refuse' && !stage.subject.receiver.refuse) continue;
    const outcome = await outcomeOf(stage, how);
    const kind =
      outcome.type === 'skipped' ? outcome.reason : outcome.type === 'succeeded' ? 'succeeded' : outcome.kind;
    if (typeof kind !== 'string' || !kindPattern.test(kind) || kind === unnamedKind) {
      stage.broken('gave a kind that is no code and no name, but text. Give a status code or the name of an error.');
    }
  }
}

export async function heedsSignal(stage: ContractStage): Promise<void> {
  const { receiver } = stage.subject;
  receiver.hang();
  const before = receiver.received().length;
  const abort = new AbortController();
  const sending = stage.send(await stage.delivery(), 1, abort);
  const arrived = await Promise.race([stage.arrived(before, 1), sending.then(() => undefined)]);
  if (!arrived) stage.broken('returned although the receiver had not answered. Wait for its answer.');
  abort.abort(new AttemptAbortedError('timeout'));
  const outcome = stage.outcome(await sending);
  if (outcome.type !== 'retry') {
    stage.broken(
      `gave ${inWords(outcome)} for a send that was aborted: nobody knows whether it arrived. Return retry(kind), or throw.`,
    );
  }
}

export async function sideBySide(stage: ContractStage): Promise<void> {
  const { receiver } = stage.subject;
  const deliveries = [await stage.delivery(), await stage.delivery()];
  receiver.accept();
  const before = receiver.received().length;
  await Promise.all(deliveries.map((delivery) => stage.send(delivery)));
  const ids = new Set(receiver.received().slice(before));
  if (ids.size !== deliveries.length) {
    stage.broken(
      'mixed two sends that ran at the same time. Keep what belongs to one send in variables of send(), not in fields.',
    );
  }
}

export async function leavesItAlone(stage: ContractStage): Promise<void> {
  stage.subject.receiver.accept();
  await stage.send(await stage.delivery());
  if (stage.changed) stage.broken('changed the delivery that send() was given. Copy what is to be changed.');
}

async function outcomeOf(stage: ContractStage, how: 'failForNow' | 'refuse'): Promise<Outcome> {
  stage.subject.receiver[how]?.();
  return stage.outcome(await stage.send(await stage.delivery()));
}

const inWords = (outcome: Outcome): string => `"${outcome.type}"`;
