import type { LoggedOutClient } from 'nest-deliveries/backchannel-logout';
import type { EntityManager } from 'typeorm';

/** The clients that hold tokens from a session and registered where to be told of its end. */
export const loggedOutClients = ({ sid }: { readonly sid: string }, tx: EntityManager): Promise<LoggedOutClient[]> =>
  tx.query<LoggedOutClient[]>(
    `SELECT c.id AS "clientId", c.backchannel_logout_uri AS "logoutUri"
       FROM oidc_session_clients s JOIN oidc_clients c ON c.id = s.client_id
      WHERE s.session_id = $1 AND c.backchannel_logout_uri IS NOT NULL
      ORDER BY c.id`,
    [sid],
  );
