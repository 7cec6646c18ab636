/** Who a message is from. */
export interface Sender {
  /** What recipients see beside the address: the application's or the organisation's name. */
  readonly name: string;
  readonly address: string;
}

/** A message that is ready to be sent: nothing is left to decide. */
export interface Message {
  readonly from: Sender;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** With its angle brackets. */
  readonly messageId: string;
  readonly date: Date;
  /** Parts the text from the HTML: the same on every attempt, so that every attempt sends the same bytes. */
  readonly boundary: string;
  readonly headers: Readonly<Record<string, string>>;
}
