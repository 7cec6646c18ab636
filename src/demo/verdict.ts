import { accountVerdict } from './account-verdict';
import type { Facts } from './facts';
import type { Arrival } from './receiver';
import { webhookVerdict } from './webhook-verdict';

/**
 * What is wrong with how the story ended; nothing is when the list is empty. Pure.
 *
 * A receiver counts a delivery as arrived when it had it in full, whatever became of the answer.
 */
export function verdict(facts: Facts): string[] {
  return [
    ...notDelivered(facts),
    ...uncommitted(facts),
    ...renamed(facts),
    ...notShown(facts),
    ...accountVerdict(facts.accounts),
    ...webhookVerdict(facts.webhooks),
  ];
}

function notDelivered({ promised, deliveries, arrivals }: Facts): string[] {
  return promised.flatMap(({ handle, partner }) => {
    const what = `The delivery of "${handle}" to ${partner}`;
    const stored = deliveries.filter((each) => each.handle === handle && each.partner === partner);
    const accepted = arrivals.some((each) => each.handle === handle && each.receiver === partner && isSuccess(each));
    if (stored.length !== 1) return [`${what} exists ${stored.length} times in the database instead of once.`];
    if (!accepted) return [`${what} never arrived.`];
    if (stored[0]!.status !== 'succeeded') return [`${what} arrived, but is ${stored[0]!.status} in the database.`];
    return [];
  });
}

function uncommitted({ promised, rolledBack, deliveries, arrivals }: Facts): string[] {
  const known = new Set(promised.map(({ handle, partner }) => `${handle} to ${partner}`));
  const sent = new Set(arrivals.map(subjectOf));
  return [
    ...rolledBack
      .filter((handle) => deliveries.some((each) => each.handle === handle))
      .map((handle) => `"${handle}" was rolled back, but a delivery of it is in the database.`),
    ...[...sent].filter((each) => !known.has(each)).map((each) => `A request arrived that nobody committed: ${each}.`),
  ];
}

function renamed({ arrivals, deliveries }: Facts): string[] {
  const problems: string[] = [];
  for (const what of new Set(arrivals.map(subjectOf))) {
    const requests = arrivals.filter((each) => subjectOf(each) === what);
    const { handle, receiver } = requests[0]!;
    const ids = [...new Set(requests.map((each) => each.deliveryId))];
    const stored = deliveries.find((each) => each.handle === handle && each.partner === receiver);
    if (ids.length > 1) {
      problems.push(`${receiver} got "${handle}" ${requests.length} times under different ids: ${ids.join(', ')}.`);
    } else if (stored && stored.id !== ids[0]) {
      problems.push(`${receiver} got "${handle}" as ${ids[0]}, and the database calls it ${stored.id}.`);
    }
  }
  return problems;
}

/** A demonstration in which nothing went wrong on the way would prove nothing. */
function notShown({ arrivals, killed, frozen, leaseLost, retryAfter }: Facts): string[] {
  const problems = [killed, frozen]
    .filter((handle) => new Set(arrivals.filter((each) => each.handle === handle).map((each) => each.replica)).size < 2)
    .map((handle) => `"${handle}" was to be sent by two replicas, and was not.`);
  if (leaseLost !== 1) problems.push(`One late outcome was to be dropped as a lost lease; there were ${leaseLost}.`);
  const asked = arrivals.findIndex(({ status }) => status === 429);
  const next = arrivals.find(({ handle }, index) => index > asked && handle === arrivals[asked]?.handle);
  if (asked < 0 || !next) problems.push('Nobody was asked to come back later, or nobody did.');
  else if (next.arrivedAt - arrivals[asked]!.answeredAt! < retryAfter) {
    problems.push(`A receiver asked to be left alone for ${retryAfter} ms, and was not.`);
  }
  return problems;
}

const isSuccess = ({ status = 0 }: Arrival): boolean => status >= 200 && status <= 299;

const subjectOf = ({ handle, receiver }: Arrival): string => `${handle} to ${receiver}`;
