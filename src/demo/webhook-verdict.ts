import type { PartnerFacts, WebhookFacts } from './webhook-facts';

/** What is wrong with how the act about signed webhooks ended; nothing is when the list is empty. Pure. */
export function webhookVerdict({ partners, rotation, dead, inbox, inboxDuplicate }: WebhookFacts): string[] {
  const problems = partners.flatMap(partnerVerdict);
  for (const [who, verdict] of Object.entries(rotation)) {
    if (verdict !== 'accepted') problems.push(`After a change of secret a message was to be good ${who}: ${verdict}.`);
  }
  if (dead.disabledReason !== 'gone') {
    problems.push(`An endpoint that answers 410 was to be disabled as gone, and is ${dead.disabledReason}.`);
  }
  if (dead.counted !== 2 || dead.retried !== 2) {
    problems.push(`Two failed messages were to be sent again; ${dead.counted} were counted, ${dead.retried} sent.`);
  }
  if (inbox.join() !== '200,200,401' || !inboxDuplicate) {
    problems.push(`The inbox was to take a message once and refuse a changed one, and answered ${inbox.join(', ')}.`);
  }
  return problems;
}

function partnerVerdict({ partner, handles, arrivals }: PartnerFacts): string[] {
  const problems = arrivals
    .filter(({ verdict }) => verdict !== 'accepted')
    .map(({ handle, verdict }) => `${partner} did not accept what it was told of "${handle}": ${verdict}.`);
  for (const handle of handles) {
    const ofIt = arrivals.filter((each) => each.handle === handle);
    if (!ofIt.some(({ status }) => status === 200)) problems.push(`${partner} was never told of "${handle}".`);
    if (new Set(ofIt.map(({ id }) => id)).size > 1) problems.push(`${partner} was told of "${handle}" under two ids.`);
  }
  return problems;
}
