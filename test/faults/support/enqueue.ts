import type { DeliveryDraft } from 'nest-deliveries';
import type { DeliveriesApp } from '../../support/deliveries-app';
import type { Script, ScriptedChannel } from './scripted-channel';

/** Records deliveries of a scripted channel in one transaction and gives their ids. Wakes nobody. */
export async function enqueue(
  app: Pick<DeliveriesApp, 'recorder'>,
  channel: ScriptedChannel,
  payloads: readonly Script[],
  more: Partial<DeliveryDraft> = {},
): Promise<string[]> {
  const drafts = payloads.map((payload) => ({ destination: 'test', ...more, payload }));
  const recorded = await app.recorder.transaction((tx) => app.recorder.enqueue(tx, channel.type, drafts));
  return recorded.map(({ id }) => id);
}

/** The same for one delivery. */
export async function enqueueOne(
  app: Pick<DeliveriesApp, 'recorder'>,
  channel: ScriptedChannel,
  payload: Script,
  more: Partial<DeliveryDraft> = {},
): Promise<string> {
  const [id] = await enqueue(app, channel, [payload], more);
  return id!;
}
