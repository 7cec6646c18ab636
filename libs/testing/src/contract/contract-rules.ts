/** The rules, by name. */
export const contractRules = {
  'other-events': 'an event that is none of its business causes nothing',
  records: 'what it is there for causes a delivery, in the transaction that caused it',
  'rolls-back': 'what is rolled back causes none',
  'no-secrets': 'nothing secret is stored with a delivery',
  succeeds: 'what the receiver takes has succeeded, and the receiver has it',
  'same-id': 'each attempt carries the same id, and no other delivery carries it',
  'tries-again': 'a failure that may pass is a retry',
  'gives-up': 'a failure that will not pass ends the delivery',
  'kinds-only': 'what it says of a failure is a code or a kind, and never the receiver’s words',
  'heeds-signal': 'a send ends when its signal aborts',
  'side-by-side': 'two sends at a time do not mix',
  'leaves-it-alone': 'a send does not change its delivery',
} as const;

export type ContractRule = keyof typeof contractRules;
