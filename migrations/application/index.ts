import { AccountsAndPartners1764460900000 } from './0001-accounts-and-partners';

/** The reference application's own migrations, in order. The libraries' are `deliveriesMigrations()`. */
export const applicationMigrations = [AccountsAndPartners1764460900000];
