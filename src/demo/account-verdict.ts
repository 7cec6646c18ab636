import type { AccountFacts, AnnouncementFacts, LogoutFacts } from './account-facts';

/** What is wrong with how the acts about accounts ended; nothing is when the list is empty. Pure. */
export function accountVerdict({ signUp, recovery, announcement, logout }: AccountFacts): string[] {
  const problems: string[] = [];
  if (signUp.links !== 1) problems.push(`${signUp.address} was to get one link, and got ${signUp.links}.`);
  if (!signUp.verified) problems.push(`The link to ${signUp.address} was followed, and the address is not verified.`);
  const [told, addresses] = [recovery.notices.toSorted().join(', '), recovery.addresses.toSorted().join(', ')];
  if (told !== addresses)
    problems.push(`A recovery was to be told to ${addresses}, and was told to ${told || 'nobody'}.`);
  return [...problems, ...announcementVerdict(announcement), ...logout.flatMap(logoutVerdict)];
}

function announcementVerdict({
  recipients,
  optedOut,
  mailboxes,
  copies,
  unwanted,
  ...counted
}: AnnouncementFacts): string[] {
  const problems: string[] = [];
  const wanted = recipients - optedOut;
  if (mailboxes !== wanted) problems.push(`The announcement was for ${wanted} mailboxes, and is in ${mailboxes}.`);
  if (copies !== mailboxes) problems.push(`Of the announcement ${copies - mailboxes} copies arrived without need.`);
  if (unwanted > 0) problems.push(`${unwanted} who had opted out got the announcement.`);
  if (counted.sent !== wanted || counted.skipped !== optedOut) {
    problems.push(
      `The application counts ${counted.sent} sent and ${counted.skipped} skipped, which were ${wanted} and ${optedOut}.`,
    );
  }
  if (counted.overtaken === 0) problems.push('A verification link was to overtake the announcement, and did not.');
  return problems;
}

function logoutVerdict({ party, hasTokens, verdicts }: LogoutFacts): string[] {
  if (!hasTokens) return verdicts.length === 0 ? [] : [`${party} has no tokens, and was told of the end of a session.`];
  if (verdicts.length !== 1) return [`${party} was to get one logout token, and got ${verdicts.length}.`];
  return verdicts[0] === 'accepted' ? [] : [`${party} did not accept its logout token: ${verdicts[0]}.`];
}
