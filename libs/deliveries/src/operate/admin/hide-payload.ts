import type { DeliveryDetail } from '../delivery-view';

/** A delivery as those see it who may not see payloads: without what it says, whom it is for, and what its event says. */
export const withoutPayload = (delivery: DeliveryDetail): DeliveryDetail => ({
  ...delivery,
  payload: null,
  recipient: null,
  event: delivery.event && { ...delivery.event, payload: null },
});
