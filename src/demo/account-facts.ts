/** What the acts about accounts came to. */
export interface AccountFacts {
  readonly signUp: { readonly address: string; readonly links: number; readonly verified: boolean };
  readonly recovery: {
    /** Verified addresses of the account. */
    readonly addresses: readonly string[];
    /** Where a notice of the recovery arrived, once for each copy. */
    readonly notices: readonly string[];
  };
  readonly announcement: AnnouncementFacts;
  /** By relying party. */
  readonly logout: readonly LogoutFacts[];
}

export interface AnnouncementFacts {
  readonly recipients: number;
  readonly optedOut: number;
  /** Mailboxes that got it, and copies that arrived. */
  readonly mailboxes: number;
  readonly copies: number;
  /** Of those who had opted out when it was to be sent to them. */
  readonly unwanted: number;
  /** As the application counts. */
  readonly sent: number;
  readonly skipped: number;
  /** Announcements that were still to be sent when a verification link arrived that was asked for after them. */
  readonly overtaken: number;
}

export interface LogoutFacts {
  readonly party: string;
  readonly hasTokens: boolean;
  /** What its own verifier said of each token that arrived: `accepted`, or why not. */
  readonly verdicts: readonly string[];
}
