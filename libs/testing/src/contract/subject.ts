import type { Type } from '@nestjs/common';
import type { ChannelHandler } from 'nest-deliveries';
import type { EntityManager } from 'typeorm';
import type { DeliveriesTester } from '../deliveries-tester';
import type { ContractReceiver } from './contract-receiver';

/** What the contract needs to know of a channel. */
export interface ChannelSubject {
  /** The tester of an application in manual mode that has the channel, on a database of its own. Asked in each case. */
  readonly tester: () => DeliveriesTester | Promise<DeliveriesTester>;
  /** The channel's class. */
  readonly channel: Type<ChannelHandler<any, any, any>>;
  /**
   * Does in the transaction what makes the channel send, as the application does it: writes rows and records. Each call something
   * else, and never the same delivery twice.
   */
  readonly record: (tx: EntityManager, tester: DeliveriesTester) => Promise<unknown>;
  readonly receiver: ContractReceiver;
  /** Texts that must not be stored with a delivery, such as a token or an API key that the channel uses. */
  readonly secrets?: readonly string[];
}
