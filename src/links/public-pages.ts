/** The pages that links in emails lead to. */
export class PublicPages {
  /** @param base where people reach the application, without a trailing slash */
  constructor(
    private readonly base: string,
    /** Whether the dashboard with the operators' alerts is served. */
    private readonly dashboard: boolean,
  ) {}

  verification = (token: string): string => `${this.base}/verify?token=${token}`;
  recovery = (token: string): string => `${this.base}/recover?token=${token}`;
  inbox = (): string => `${this.base}/inbox`;
  notification = (id: string): string => `${this.base}/inbox/${id}`;
  undo = (recoveryId: string): string => `${this.base}/recoveries/${recoveryId}/undo`;
  unsubscribe = (token: string): string => `${this.base}/unsubscribe/${token}`;
  /** Undefined while this application serves none. */
  alerts = (): string | undefined => (this.dashboard ? `${this.base}/admin/deliveries` : undefined);

  /** RFC 8058 allows an https address only; mail programs ignore any other, and so is none given. */
  oneClick = (token: string): string | undefined =>
    this.base.startsWith('https:') ? this.unsubscribe(token) : undefined;
}
