/** Signs of life of one channel's workers in this process. */
export interface WorkerPulse {
  readonly channel: string;
  /** Since its poll last came by, in ms. */
  readonly sincePoll: number;
  /** How long the longest claim that is under way has been, in ms; 0 when none is. */
  readonly claiming: number;
  /** Deliveries in flight. */
  readonly inFlight: number;
}
