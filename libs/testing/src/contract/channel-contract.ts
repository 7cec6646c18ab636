import { contractRules, type ContractRule } from './contract-rules';
import { ContractStage } from './contract-stage';
import * as record from './record-rules';
import * as send from './send-rules';
import type { ChannelSubject } from './subject';

/** One rule, for the test runner of your choice: `test(name, run)`. */
export interface ContractCase {
  readonly rule: ContractRule;
  /** The rule in words, with the channel's class. */
  readonly name: string;
  /** @throws ChannelContractError that says what the channel did */
  readonly run: () => Promise<void>;
}

const cases = {
  'other-events': record.otherEvents,
  records: record.records,
  'rolls-back': record.rollsBack,
  'no-secrets': record.noSecrets,
  succeeds: send.succeeds,
  'same-id': send.sameId,
  'tries-again': send.triesAgain,
  'gives-up': send.givesUp,
  'kinds-only': send.kindsOnly,
  'heeds-signal': send.heedsSignal,
  'side-by-side': send.sideBySide,
  'leaves-it-alone': send.leavesItAlone,
} satisfies Record<ContractRule, (stage: ContractStage) => Promise<void>>;

/**
 * The rules that every channel keeps, as cases for a test runner. Each records something, and calls the channel itself, with a
 * signal and a deadline like those of a worker; what it recorded stays in the database, cancelled.
 *
 * ```ts
 * for (const { name, run } of channelContract(subject)) test(name, run);
 * ```
 */
export function channelContract(subject: ChannelSubject): ContractCase[] {
  const rules = (Object.keys(contractRules) as ContractRule[]).filter(
    (rule) =>
      (rule !== 'gives-up' || subject.receiver.refuse !== undefined) &&
      (rule !== 'no-secrets' || (subject.secrets ?? []).length > 0),
  );
  return rules.map((rule) => ({
    rule,
    name: `${subject.channel.name}: ${contractRules[rule]}`,
    run: async () => {
      const stage = new ContractStage(rule, subject, await subject.tester());
      try {
        await cases[rule](stage);
      } finally {
        await stage.leave();
      }
    },
  }));
}
