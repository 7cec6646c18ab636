import type { DataSource, QueryRunner } from 'typeorm';
import type { Channel, ChannelRegistry } from './channel/channel-registry';
import type { ChannelHandler, DeliveryChannelOptions } from './channel/channel.decorator';
import { connectionOf, type Transaction } from './database/caller-transaction';
import type { DeliveryDraft } from './delivery/draft';
import type { RecordedDelivery } from './record/delivery-inserter';
import type { DeliveryRecorder } from './record/delivery-recorder';
import type { DeliveredByHand } from './worker/deliver-claim';
import type { DeliveryWorkers } from './worker/delivery-workers';

/** How a channel that is opened at run time sends: it records nothing by itself. */
export type RuntimeHandler<Payload = unknown, Recipient = unknown> = Pick<
  ChannelHandler<Payload, Recipient>,
  'send' | 'onFailed'
>;

/** Channels that come and go while the application runs, such as one for each namespace of an outbox. */
export class RuntimeChannels {
  /**
   * @param dataSource where deliveries are recorded: for libraries that keep tables beside those of the queue
   * @param schema their schema, quoted for SQL
   */
  constructor(
    private readonly registry: ChannelRegistry,
    private readonly recorder: DeliveryRecorder,
    private readonly workers: DeliveryWorkers,
    readonly dataSource: DataSource,
    readonly schema: string,
  ) {}

  /**
   * The connection of the caller's transaction, for what a library writes beside its deliveries.
   * @throws TransactionRequiredError
   */
  connectionOf(tx: Transaction): QueryRunner {
    return connectionOf(tx, this.dataSource);
  }

  /**
   * Adds a channel to this process, and starts its workers. To the other processes it is a channel that they do not know:
   * they leave its deliveries alone.
   *
   * @param options as `@DeliveryChannel` takes them. Where the module's `run` says which channels this process sends, the workers
   *   of this one start only if `options.workers` is given.
   * @throws ChannelDefinitionError for a name that is taken or malformed; DeliveriesOptionsError
   */
  open<Payload, Recipient>(
    options: DeliveryChannelOptions,
    handler: RuntimeHandler<Payload, Recipient>,
  ): RuntimeChannel {
    const sends = new RecordsNothing(handler);
    const channel = this.registry.open(options, sends, handler.constructor.name);
    this.workers.open(channel);
    return new RuntimeChannel(channel, this.registry, this.recorder, this.workers);
  }
}

/** A channel that was opened in this process. */
export class RuntimeChannel {
  private closing: Promise<void> | undefined;

  constructor(
    private readonly channel: Channel,
    private readonly registry: ChannelRegistry,
    private readonly recorder: DeliveryRecorder,
    private readonly workers: DeliveryWorkers,
  ) {}

  get name(): string {
    return this.channel.name;
  }

  /**
   * Records a delivery in the caller's transaction, at once: also inside `recorder.transaction`, where other channels' deliveries
   * with a dedupe key wait for the commit.
   * @throws as `DeliveryRecorder.enqueue`
   */
  enqueue(tx: Transaction, draft: DeliveryDraft): Promise<RecordedDelivery> {
    return this.recorder.enqueueAtOnce(tx, this.channel.name, draft);
  }

  /**
   * Sends the delivery that has been due longest, without workers. Resolves when its outcome is written, lost or given up.
   * @returns undefined when none is due
   */
  sendNext(): Promise<DeliveredByHand | undefined> {
    return this.workers.sendNext(this.channel);
  }

  /** Takes the channel from this process. Resolves when none of its deliveries is being sent here any more. */
  close(): Promise<void> {
    this.registry.close(this.channel.name);
    this.closing ??= this.workers.close(this.channel);
    return this.closing;
  }
}

/** A channel that has no part in what an event causes. */
class RecordsNothing implements ChannelHandler {
  readonly onFailed: ChannelHandler['onFailed'];

  constructor(private readonly handler: RuntimeHandler) {
    this.onFailed = handler.onFailed?.bind(handler);
  }

  deliveries(): [] {
    return [];
  }

  send(...given: Parameters<ChannelHandler['send']>): ReturnType<ChannelHandler['send']> {
    return this.handler.send(...given);
  }
}
