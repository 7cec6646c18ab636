/**
 * A verification link as it is about to be sent: the address, whose account, and the digest that its token must have. No row for an
 * address that was removed or replaced.
 *
 * $1 address
 */
export const verificationSql = `
SELECT ad.email, a.handle, ad.token_digest AS digest, ad.verified_at IS NOT NULL AS verified,
       ad.link_expires_at <= now() AS expired, a.status = 'active' AS active
  FROM addresses ad JOIN accounts a ON a.id = ad.account_id
 WHERE ad.id = $1`;

/** A recovery link as it is about to be sent. No row when the account is gone. $1 recovery · $2 the address that was primary */
export const recoverySql = `
SELECT ad.email, a.handle, r.token_digest AS digest, a.status = 'active' AS active,
       r.used_at IS NOT NULL AS used, r.cancelled_at IS NOT NULL AS cancelled, r.expires_at <= now() AS expired
  FROM recoveries r
  JOIN accounts a ON a.id = r.account_id
  LEFT JOIN addresses ad ON ad.id = $2 AND ad.account_id = a.id AND ad.verified_at IS NOT NULL
 WHERE r.id = $1`;

/** What was just written to inboxes, with whom it is for and their verified addresses. Announcements go another way. $1 notifications */
export const noticesSql = `
SELECT n.id, n.account_id AS "accountId", n.kind, n.data, a.handle,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('id', ad.id, 'email', ad.email, 'primary', ad.is_primary)
                                  ORDER BY ad.created_at, ad.id), '[]')
          FROM addresses ad WHERE ad.account_id = a.id AND ad.verified_at IS NOT NULL) AS verified
  FROM notifications n JOIN accounts a ON a.id = n.account_id
 WHERE n.id = ANY($1) AND n.kind <> 'announcement'
 ORDER BY n.created_at, n.id`;
