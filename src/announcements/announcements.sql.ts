/**
 * Writes an announcement to the inbox of each recipient: the accounts that are active when it is sent. They are locked until the
 * commit, so that a purge waits, and then finds what it has to delete.
 *
 * $1 announcement
 */
export const fillInboxesSql = `
WITH recipients AS MATERIALIZED (
  SELECT id FROM accounts WHERE status = 'active' ORDER BY id FOR SHARE
)
INSERT INTO notifications (account_id, kind, announcement_id)
SELECT id, 'announcement', $1 FROM recipients`;

/**
 * One delivery for each recipient with a primary address; without those who want no announcements by email, unless it is essential.
 *
 * $1 announcement
 */
export const fanOutSql = `
SELECT 'account ' || n.account_id || ', announcement ' || n.announcement_id AS destination,
       jsonb_build_object('accountId', n.account_id) AS recipient,
       jsonb_build_object('announcementId', n.announcement_id) AS payload
  FROM notifications n
  JOIN announcements an ON an.id = n.announcement_id
  JOIN accounts a ON a.id = n.account_id
  JOIN addresses ad ON ad.account_id = a.id AND ad.is_primary
 WHERE n.announcement_id = $1 AND (an.essential OR a.announcements_by_email)`;

/** An announcement as it is about to be sent to one account. A primary address is a verified one. $1 announcement · $2 account */
export const messageSql = `
SELECT an.subject, an.text, an.essential, a.handle, ad.email,
       a.status = 'active' AND n.id IS NOT NULL AS recipient, a.announcements_by_email AS wanted
  FROM announcements an
  LEFT JOIN accounts a ON a.id = $2
  LEFT JOIN notifications n ON n.announcement_id = an.id AND n.account_id = a.id
  LEFT JOIN addresses ad ON ad.account_id = a.id AND ad.is_primary
 WHERE an.id = $1`;

/**
 * How far an announcement is, from its deliveries themselves: nobody keeps a counter that a crash could leave behind. What clean-up
 * or a purge has deleted is counted as removed.
 *
 * $1 announcement
 */
export const progressSql = `
SELECT an.id, an.subject, an.text, an.essential, an.sent_at AS "sentAt", an.recipients, an.emails,
       count(*) FILTER (WHERE d.status = 'pending')::integer AS pending,
       count(*) FILTER (WHERE d.status = 'succeeded' AND skipped.number IS NULL)::integer AS sent,
       count(*) FILTER (WHERE d.status = 'succeeded' AND skipped.number IS NOT NULL)::integer AS skipped,
       count(*) FILTER (WHERE d.status = 'failed')::integer AS failed,
       count(*) FILTER (WHERE d.status = 'cancelled')::integer AS cancelled,
       an.emails - count(d.id)::integer AS removed
  FROM announcements an
  LEFT JOIN deliveries.events e ON e.id = an.event_id
  LEFT JOIN LATERAL unnest(e.delivery_ids) AS caused (id) ON true
  LEFT JOIN deliveries.deliveries d ON d.id = caused.id
  LEFT JOIN deliveries.delivery_attempts skipped ON skipped.delivery_id = d.id AND skipped.outcome = 'skipped'
 WHERE an.id = $1
 GROUP BY an.id`;
