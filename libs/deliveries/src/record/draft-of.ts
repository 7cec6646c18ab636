import type { ChannelHandler } from '../channel/channel.decorator';
import type { DeliveryDraft } from '../delivery/draft';

// Each type argument stands in both directions (what `deliveries` gives, what `send` takes): only `any` fits every channel.
export type AnyChannel = ChannelHandler<any, any, any>;

type Sent<C extends AnyChannel> = Parameters<C['send']>[0];

/**
 * What `enqueue` takes for a channel class: its `send` says what the payload and the recipient are. A `send` whose
 * parameter names only a part of the delivery, such as `{ payload }: { payload: string }`, says what it names.
 */
export type DraftOf<C extends AnyChannel> = DeliveryDraft<
  Sent<C> extends { readonly payload: infer Payload } ? Payload : unknown,
  Sent<C> extends { readonly recipient: infer Recipient } ? Exclude<Recipient, null> : unknown
>;
