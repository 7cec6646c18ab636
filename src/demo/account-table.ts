import type { AccountFacts } from './account-facts';
import { aligned } from './table';

const heads = ['MESSAGE', 'FOR', 'ARRIVED'] as const;

/** The facts about accounts as lines: what was promised to whom, and what arrived. */
export function accountTable({ signUp, recovery, announcement, logout }: AccountFacts): string[] {
  const { recipients, optedOut, copies, overtaken } = announcement;
  return aligned([
    heads,
    ['verification link', signUp.address, `${times(signUp.links)}; ${signUp.verified ? 'followed' : 'not followed'}`],
    ...recovery.addresses.map(
      (address) =>
        ['notice of a recovery', address, times(recovery.notices.filter((each) => each === address).length)] as const,
    ),
    [
      'announcement',
      `${recipients - optedOut} of ${recipients} accounts`,
      `${copies} emails; ${optedOut} had opted out`,
    ],
    ['verification link', 'one that was asked for meanwhile', `before ${overtaken} announcements`],
    ...logout.map(
      ({ party, hasTokens, verdicts }) =>
        ['logout token', `${party}${hasTokens ? '' : ', which has no tokens'}`, verdicts.join(', ') || 'none'] as const,
    ),
  ]);
}

const times = (count: number): string => (count === 1 ? 'once' : `${count}x`);
