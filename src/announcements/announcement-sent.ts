import type { DeliveryEvent } from 'nest-deliveries';

/** An announcement is in the inboxes of its recipients. */
export type AnnouncementSent = DeliveryEvent<'announcement_sent', { readonly announcementId: string }>;

export const announcementSent = (announcementId: string, actor: string): AnnouncementSent => ({
  type: 'announcement_sent',
  payload: { announcementId },
  actor,
});

export const isAnnouncementSent = (event: DeliveryEvent): event is AnnouncementSent =>
  event.type === 'announcement_sent';
