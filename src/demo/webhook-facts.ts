/** What the act about signed webhooks came to. */
export interface WebhookFacts {
  /** By partner. */
  readonly partners: readonly PartnerFacts[];
  /** What the message says that arrived after the secret was changed, to who knows the old one and to who knows the new one. */
  readonly rotation: { readonly withOld: string; readonly withNew: string };
  /** Of the endpoint that was gone for a while. */
  readonly dead: {
    /** Why it was disabled. */
    readonly disabledReason: string | null;
    /** Failed messages, as counted before they were sent again. */
    readonly counted: number;
    readonly retried: number;
  };
  /** What the inbox answered to a signed message, the same again, and one that was changed on the way. */
  readonly inbox: readonly number[];
  readonly inboxDuplicate: boolean;
}

export interface PartnerFacts {
  readonly partner: string;
  readonly scheme: string;
  /** Accounts that it was to be told of. */
  readonly handles: readonly string[];
  readonly arrivals: readonly {
    readonly handle: string;
    readonly id: string;
    readonly verdict: string;
    readonly status: number;
  }[];
}
