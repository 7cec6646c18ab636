import { DeliveriesError } from 'nest-deliveries';

/** A drain sent so often that it would hardly end. */
export class EndlessDrainError extends DeliveriesError {
  readonly code = 'DELIVERIES_TESTING_ENDLESS_DRAIN';

  constructor(attempts: number) {
    super(
      `${attempts} attempts, and more is due: a channel that always asks for a retry goes on until its maxAge, or a send records the next ` +
        'delivery each time. Drain for a time, with until: a duration, or give the channel maxAttempts.',
    );
  }
}

/** Deliveries were still pending when everything should have ended. */
export class NotSettledError extends DeliveriesError {
  readonly code = 'DELIVERIES_TESTING_NOT_SETTLED';

  /** @param pending what is left, one line each, without payloads */
  constructor(
    readonly pending: readonly string[],
    advice: string,
  ) {
    super(`Not settled, ${pending.length} still pending. ${advice}\n${pending.slice(0, 10).join('\n')}`);
  }
}

/** A scripted receiver was not sent what the test waits for. */
export class NotReceivedError extends DeliveriesError {
  readonly code = 'DELIVERIES_TESTING_NOT_RECEIVED';

  constructor(wanted: number, got: number, within: number) {
    super(
      `The receiver got ${got} of ${wanted} requests within ${within} ms. In manual mode nothing is sent before drain(); with workers, ` +
        'look whether the deliveries are pending with an error.',
    );
  }
}

/** A channel breaks a rule of the contract. */
export class ChannelContractError extends DeliveriesError {
  readonly code = 'DELIVERIES_TESTING_CHANNEL_CONTRACT';

  /**
   * @param rule its name in `contractRules`
   * @param found what the channel did, and what to do
   */
  constructor(
    readonly rule: string,
    found: string,
  ) {
    super(`${rule}: ${found}`);
  }
}
