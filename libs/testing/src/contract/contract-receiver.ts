import type { ReceivedRequest } from '../receiver/received-request';
import type { ScriptedReceiver } from '../receiver/scripted-receiver';

/** The receiver of a channel, as the contract plays it. Each call says what it does from now on. */
export interface ContractReceiver {
  /** Takes everything. */
  readonly accept: () => void;
  /** Fails as if it would work later, for example with 503. */
  readonly failForNow: () => void;
  /** Fails as if it will never work, for example with 400. Left out where there is no such answer. */
  readonly refuse?: () => void;
  /** Takes a message and never answers. */
  readonly hang: () => void;
  /** The ids of the messages that arrived, in order, whatever was answered: what the receiver would deduplicate on. */
  readonly received: () => readonly string[];
}

/** Real receivers explain themselves, and nothing of it may be stored. */
const explanation = 'We are sorry: please do ask again, <ada@example.org>.';

/**
 * A scripted receiver in the words of the contract: 204, 503, 400 or no answer at all.
 * @param receiver asked for when it is needed, since cases are listed before anything has started
 * @param idOf where a request carries the id
 */
export const httpReceiver = (
  receiver: () => ScriptedReceiver,
  idOf: (request: ReceivedRequest) => string | undefined,
): ContractReceiver => ({
  accept: () => receiver().always(204),
  failForNow: () => receiver().always({ status: 503, body: explanation }),
  refuse: () => receiver().always({ status: 400, body: explanation }),
  hang: () => receiver().always('hang'),
  received: () => receiver().requests.map((request) => idOf(request) ?? ''),
});
