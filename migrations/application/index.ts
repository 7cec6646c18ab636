import { AccountsAndPartners1764460900000 } from './0001-accounts-and-partners';
import { AccountService1764547300000 } from './0002-account-service';

/** The reference application's own migrations, in order. The libraries' are `deliveriesMigrations()`. */
export const applicationMigrations = [AccountsAndPartners1764460900000, AccountService1764547300000];
