import { aligned } from './table';
import type { WebhookFacts } from './webhook-facts';

const heads = ['PARTNER', 'SIGNED BY', 'ACCOUNT', 'WHAT IT ANSWERED', 'ITS VERIFIER SAYS'] as const;

/** The facts about signed webhooks as lines. */
export function webhookTable({ partners, rotation }: WebhookFacts): string[] {
  const rows = partners.flatMap(({ partner, scheme, handles, arrivals }) =>
    handles.map((handle) => {
      const ofIt = arrivals.filter((each) => each.handle === handle);
      const verdicts = [...new Set(ofIt.map(({ verdict }) => verdict))].join(', ');
      return [partner, scheme, handle, ofIt.map(({ status }) => status).join(', then ') || 'nothing', verdicts];
    }),
  );
  const { withOld, withNew } = rotation;
  return [
    ...aligned([heads, ...rows]),
    `Acme’s new secret, seen from emmy: ${withOld} with the old one, ${withNew} with the new.`,
  ];
}
